/** The server side of `node:http2` on the engine, as far as it is there. */

export { createSecureServer, createServer } from './server';
