/**
 * `portico/http2`: `node:http2` with servers on the engine, without replacing Node's own. Its types are those of
 * `node:http2` (`types/http2.d.ts`).
 */

import { instance } from './instance';

module.exports = instance().http2();

// Never runs: names the exports for Node's reader of CommonJS modules, so that ES modules can import them by name.
declare const Http2ServerRequest: never, Http2ServerResponse: never, connect: never, constants: never, createSecureServer: never,
  createServer: never, getDefaultSettings: never, getPackedSettings: never, getUnpackedSettings: never, performServerHandshake: never,
  sensitiveHeaders: never;
0 && (module.exports = {
  Http2ServerRequest, Http2ServerResponse, connect, constants, createSecureServer, createServer, getDefaultSettings, getPackedSettings,
  getUnpackedSettings, performServerHandshake, sensitiveHeaders,
});
