/** Node's own `createServer` and `createSecureServer` of `node:http2`: loaded before ours take their place. */

import http2 = require('node:http2');

type Create = (options?: unknown, listener?: unknown) => object;

/** Makes a server that Node's own stack serves, unless it is given to the engine. */
export const createNodeServer = http2.createServer as Create;

/** The same of one with TLS. */
export const createNodeSecureServer = http2.createSecureServer as Create;
