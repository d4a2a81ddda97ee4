/**
 * `https.Server` on the engine.
 *
 * Node's own constructor runs first, and with it OpenSSL checks the options and throws the errors that users know; then
 * the TLS side is made for the engine, and what it can't honour is thrown. Listening and HTTP are those of our
 * `http.Server`.
 */

import type { ServerOptions } from 'node:https';
import nodeHttps = require('node:https');
import { enumerateAsNode } from '../node/enumerability';
import { carryFunction, carryOver } from '../node/carry-over';
import { adopt, classesOf, defineServerMembers, initializeServer, isExactly, standIn } from '../http/server';
import { sampleServer } from '../http/stock';
import { attachmentOf, type ServerObject } from '../lane/attached-server';
import { leaveToNode } from '../lane/stock-server';
import { TlsOptionError } from '../tls/errors';
import { refuseUnsupported } from '../tls/options';
import type { RecordedOptions } from '../tls/secure-context';
import { installSecureContextRecorder } from '../tls/secure-context';
import { reasonForNodeTls } from './flags';
import { tlsProvider } from '../lane/tls-provider';
import { TlsServer, type HandshakeOptions, type TlsServerObject } from './tls-server';

installSecureContextRecorder();

/** Captured before `register` puts ours in its place. */
const NodeServer = nodeHttps.Server as unknown as {
  new (...args: unknown[]): TlsServerObject;
  prototype: TlsServerObject;
};

/** A server with its TLS side; absent while Node's constructor runs. */
interface PorticoServer extends TlsServerObject {
  [tlsProvider]?: TlsServer;
}

type Listener = (...args: unknown[]) => void;

/** The constructor, callable without `new` as Node's is. */
export function Server(this: PorticoServer | undefined, options?: unknown, requestListener?: unknown): unknown {
  if (!(this instanceof (Server as unknown as { new (): PorticoServer }))) {
    return new (Server as unknown as { new (...args: unknown[]): PorticoServer })(options, requestListener);
  }
  Reflect.apply(NodeServer as unknown as Listener, this, [options, requestListener]);
  secure(this, asOptions(options));
  return this;
}

type GivenOptions = HandshakeOptions & RecordedOptions;

function asOptions(options: unknown): GivenOptions {
  return (typeof options === 'object' && options !== null ? options : {}) as GivenOptions;
}

/** What a server of ours needs after Node's constructor. */
function secure(server: PorticoServer, given: GivenOptions): void {
  keepNodeTlsIfNeeded(server);
  initializeServer(server, given as ServerOptions);
  // A server that needs Node's TLS or its lenient parser runs on Node's own stack, both included.
  if (attachmentOf(server).stockReason !== undefined) return;
  refuseUnsupported(given);
  server[tlsProvider] = new TlsServer(server, given);
  for (const event of ['connection', 'secureConnection'] as const) {
    const [stock] = server.listeners(event) as Listener[];
    if (stock !== undefined) standIn(server as unknown as ServerObject, event, stock);
  }
}

Object.setPrototypeOf(Server, NodeServer);
Server.prototype = Object.create(NodeServer.prototype, {
  constructor: { value: Server, writable: true, configurable: true },
}) as PorticoServer;
defineServerMembers(Server.prototype as object);

/** `https.createServer`. */
export const createServer = carryFunction(nodeHttps, 'createServer', function createServer(options?: unknown, requestListener?: unknown): unknown {
  return new (Server as unknown as { new (...args: unknown[]): PorticoServer })(options, requestListener);
}, adoptServer);

/** Makes a server that Node's own constructor has made one of ours, before it listens. */
function adoptServer(server: unknown, [options]: unknown[]): void {
  if (!isExactly(server, NodeServer.prototype)) return;
  adopt(server, Server.prototype as object);
  secure(server as PorticoServer, { ...asOptions(options), ...classesOf(server) });
}

function keepNodeTlsIfNeeded(server: PorticoServer): void {
  const reason = reasonForNodeTls();
  if (reason !== undefined) leaveToNode(attachmentOf(server), `https servers are served by node:https itself: ${reason}.`);
}

/** TLS events that need OpenSSL, with what to do. */
const IMPOSSIBLE_EVENTS: Record<string, string> = {
  newSession: 'Sessions are resumed by tickets and from memory by themselves; share `ticketKeys` between processes.',
  resumeSession: 'Sessions are resumed by tickets and from memory by themselves; share `ticketKeys` between processes.',
  OCSPRequest: 'Portico staples no OCSP responses: leave the listener out.',
};

/** Before a listener is added: throws if it could never be called. */
function refuseListener(server: PorticoServer, event: unknown): void {
  if (typeof event === 'string' && event in IMPOSSIBLE_EVENTS && server[tlsProvider] !== undefined) {
    throw new TlsOptionError(`on('${event}')`, 'needs OpenSSL, and Portico does not use it for connections',
      `${IMPOSSIBLE_EVENTS[event]} Or run this program with PORTICO_DISABLE=1 to keep node:https.`);
  }
}

/** Events that may come before a connection's first request. */
const CONNECTION_EVENTS: ReadonlySet<unknown> = new Set(['connection', 'secureConnection', 'tlsClientError', 'clientError']);

/** After a listener was added: has the engine tell what it wants to hear. */
function welcomeListener(server: PorticoServer, event: unknown): void {
  if (event === 'keylog') server[tlsProvider]?.wantKeyLog();
  else if (CONNECTION_EVENTS.has(event)) server[tlsProvider]?.wantConnections();
}

/** Members that reach the TLS side. Each lets Node's own do its work first. */
const members = {
  setSecureContext(this: PorticoServer, options: RecordedOptions): void {
    NodeServer.prototype.setSecureContext.call(this, options);
    const provider = this[tlsProvider];
    if (provider === undefined) return;
    refuseUnsupported(options);
    provider.replaceContext(options);
  },

  addContext(this: PorticoServer, servername: string, context: object): void {
    const contexts = (this as unknown as { _contexts: [unknown, object][] })._contexts;
    NodeServer.prototype.addContext.call(this, servername, context);
    const added = contexts[contexts.length - 1][1];
    this[tlsProvider]?.addContext(servername, added);
  },

  getTicketKeys(this: PorticoServer): Buffer {
    const keys = NodeServer.prototype.getTicketKeys.call(this);
    this[tlsProvider]?.useTicketKeys(keys);
    return keys;
  },

  setTicketKeys(this: PorticoServer, keys: Buffer): void {
    NodeServer.prototype.setTicketKeys.call(this, keys);
    this[tlsProvider]?.useTicketKeys(keys);
  },

};

for (const [name, value] of Object.entries(members)) define(name, value);

// On top of those of our `http.Server`, which listen for listeners too.
for (const name of ['on', 'addListener', 'prependListener'] as const) {
  const below = (Server.prototype as PorticoServer)[name] as (event: string, listener: Listener) => PorticoServer;
  define(name, function addListener(this: PorticoServer, event: string, listener: Listener): PorticoServer {
    refuseListener(this, event);
    below.call(this, event, listener);
    welcomeListener(this, event);
    return this;
  });
}

function define(name: string, value: unknown): void {
  Object.defineProperty(Server.prototype, name, { value, writable: true, configurable: true });
}

enumerateAsNode(Server.prototype as object, NodeServer.prototype, sampleServer);
carryOver(Server.prototype as object, 'https.Server');
