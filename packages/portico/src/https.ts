/**
 * `portico/https`: `node:https` on the engine, without replacing Node's own. Its types are those of `node:https`
 * (`types/https.d.ts`).
 */

import { instance } from './instance';

module.exports = instance().https();

// Never runs: names the exports for Node's reader of CommonJS modules, so that ES modules can import them by name.
declare const Agent: never, Server: never, createServer: never, get: never, globalAgent: never, request: never;
0 && (module.exports = { Agent, Server, createServer, get, globalAgent, request });
