/** The server side of `node:http` on the engine. */

export { IncomingMessage } from './incoming-message';
export { createServer, Server } from './server';
export { ServerResponse } from './server-response';
export { missingMasks } from './websocket-mask';
