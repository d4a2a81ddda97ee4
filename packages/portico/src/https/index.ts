/** The server side of `node:https` on the engine. */

export { createServer, Server } from './server';
