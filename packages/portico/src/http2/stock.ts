/** Node's own `node:http2`: its server classes, and keys of its internals that its compatibility API looks for. */

import net = require('node:net');
import type { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { createNodeServer } from '../node/http2-servers';

/** A server of Node's that is not used. */
const sample = createNodeServer();

/** Prototype of servers without TLS. */
export const stockServer = Object.getPrototypeOf(sample) as object;

/** Key of a server's sessions. */
const kSessions = symbolOf(sample, 'sessions');

/** Key of the timer of sockets, sessions and streams. */
export const kTimeout = symbolOf(new net.Socket(), 'timeout');

/** Key of a server's options, as Node has completed them. */
const kOptions = symbolOf(sample, 'options');

/** Sessions of Node's own, on streams that go nowhere, show what they are made of. */
const session = sampleSession();

/** Key of a session's socket. */
export const kSocket = symbolOf(session, 'socket');

/** Prototype of Node's sessions. */
export const stockSession = Object.getPrototypeOf(session) as object;

let NghttpError: (new (errno: number) => Error) | undefined;

/** An error of nghttp2's, as Node makes them. Undefined: its class is not known yet. */
export function nghttpError(errno: number): Error | undefined {
  return NghttpError === undefined ? undefined : new NghttpError(errno);
}

function symbolOf(object: object, description: string): symbol {
  return Object.getOwnPropertySymbols(object).find((symbol) => symbol.description === description) ?? Symbol(description);
}

function sampleSession(): object {
  const nowhere = new Duplex({ read() { /* See below. */ }, write(_chunk, _encoding, done) { done(); } });
  let found: object = {};
  const server = createNodeServer() as EventEmitter;
  server.on('sessionError', () => { /* It is provoked. */ });
  server.on('session', (made: EventEmitter & { destroy(error?: Error): void }) => {
    found = made;
    const { destroy } = made;
    // What is no HTTP/2 ends it with an error of nghttp2's, in the next tick.
    made.destroy = (error) => {
      if (error !== undefined) NghttpError = error.constructor as typeof NghttpError;
      Reflect.apply(destroy, made, [error]);
    };
  });
  nowhere.push('This is no preface of HTTP/2');
  server.emit('connection', nowhere);
  return found;
}

/** The sessions of a server, which Node's `close` closes; in versions of Node that keep them. */
export function sessionsOf(server: object): Set<unknown> | undefined {
  return (server as Record<symbol, Set<unknown> | undefined>)[kSessions];
}

/** What a server was made with; Node's `updateSettings` changes its `settings`. */
export function optionsOf(server: object): SessionOptions {
  return (server as Record<symbol, SessionOptions | undefined>)[kOptions] ?? {};
}

/** Options of servers that are about their sessions. */
export interface SessionOptions {
  settings?: object;
  maxHeaderListPairs?: number;
  maxSessionInvalidFrames?: number;
  maxOutstandingPings?: number;
  maxSendHeaderBlockLength?: number;
  maxOutstandingSettings?: number;
  remoteCustomSettings?: readonly number[];
  strictSingleValueFields?: boolean;
  unknownProtocolTimeout?: number;
  origins?: readonly string[];
  allowHTTP1?: boolean;
  http1Options?: { IncomingMessage?: unknown; ServerResponse?: unknown };
  Http1IncomingMessage?: unknown;
  Http1ServerResponse?: unknown;
}
