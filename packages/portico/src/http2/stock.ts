/** Node's own `node:http2`: its server classes, and keys of its internals that its compatibility API looks for. */

import http2 = require('node:http2');
import { Duplex } from 'node:stream';

/** A server of Node's that is not used. */
const sample = http2.createServer();

/** Prototype of servers without TLS. */
export const stockServer = Object.getPrototypeOf(sample) as object;

/** Key of a server's sessions. */
const kSessions = symbolOf(sample, 'sessions');

/** Key of a session's socket. */
export const kSocket = findSocketKey();

function symbolOf(object: object, description: string): symbol {
  return Object.getOwnPropertySymbols(object).find((symbol) => symbol.description === description) ?? Symbol(description);
}

/** A session of Node's client on a stream that goes nowhere shows the key. */
function findSocketKey(): symbol {
  const nowhere = new Duplex({ read() { /* Nothing comes. */ }, write(_chunk, _encoding, done) { done(); } });
  const session = http2.connect('http://localhost', { createConnection: () => nowhere });
  const key = symbolOf(session, 'socket');
  session.destroy();
  return key;
}

/** The sessions of a server, which Node's `close` closes; in versions of Node that keep them. */
export function sessionsOf(server: object): Set<unknown> | undefined {
  return (server as Record<symbol, Set<unknown> | undefined>)[kSessions];
}
