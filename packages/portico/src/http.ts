/**
 * `portico/http`: `node:http` on the engine, without replacing Node's own. Its types are those of `node:http`
 * (`types/http.d.ts`).
 */

import { instance } from './instance';

module.exports = instance().http();

// Never runs: names the exports for Node's reader of CommonJS modules, so that ES modules can import them by name.
declare const Agent: never, ClientRequest: never, IncomingMessage: never, METHODS: never, OutgoingMessage: never,
  STATUS_CODES: never, Server: never, ServerResponse: never, createServer: never, get: never, globalAgent: never,
  maxHeaderSize: never, request: never, setMaxIdleHTTPParsers: never, validateHeaderName: never,
  validateHeaderValue: never;
0 && (module.exports = {
  Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, Server, ServerResponse, createServer,
  get, globalAgent, maxHeaderSize, request, setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue,
});
