/**
 * Servers of `node:http2` on the engine: Node's own constructors run, and with them Node's compatibility API, which listens
 * to 'stream'; listening is that of our other servers, and sessions and streams are ours.
 */

import http2 = require('node:http2');
import { adopt, defineServerMembers, initializeServer, standIn } from '../http/server';
import { beginHttp1 } from '../http/http1';
import { TlsServer, type HandshakeOptions, type TlsServerObject } from '../https/tls-server';
import { reasonForNodeTls } from '../https/flags';
import { attachmentOf, type AttachedServer, type ServerObject } from '../lane/attached-server';
import type { Connection } from '../lane/connection';
import { leaveToNode } from '../lane/stock-server';
import { tlsProvider } from '../lane/tls-provider';
import { BOTH_VERSIONS, H2 } from '../native/http2-setting';
import { refuseUnsupported } from '../tls/options';
import { installSecureContextRecorder, type RecordedOptions } from '../tls/secure-context';
import { beginSession, SessionStreams } from './session-streams';

installSecureContextRecorder();

type Listener = (...args: unknown[]) => void;
type Options = HandshakeOptions & RecordedOptions & { allowHTTP1?: boolean };

/** Node's own, also where a program puts ours in their place. */
const stock = { ...http2 } as unknown as Record<'createServer' | 'createSecureServer', (...args: unknown[]) => object>;

/** Prototypes of servers of ours, by those of Node's. */
const prototypes = new Map<object, object>();

function prototypeFor(below: object): object {
  const made = prototypes.get(below);
  if (made !== undefined) return made;
  const prototype = Object.create(below) as Record<string, unknown>;
  defineServerMembers(prototype);
  // Those that Node's have.
  for (const name of ['closeAllConnections', 'closeIdleConnections']) if (!(name in below)) delete prototype[name];
  prototypes.set(below, prototype);
  return prototype;
}

/** `http2.createServer`. */
export function createServer(options?: unknown, listener?: unknown): object {
  const server = stock.createServer(options, listener) as ServerObject;
  const attached = own(server, {});
  attached.protocols = [H2];
  standInFor(server, 'connection');
  return server;
}

/** `http2.createSecureServer`. */
export function createSecureServer(options?: unknown, listener?: unknown): object {
  const server = stock.createSecureServer(options, listener) as ServerObject;
  const reason = reasonForNodeTls();
  if (reason !== undefined) leaveToNode(attachmentOf(server), `https servers are served by node:https itself: ${reason}.`);
  const given = (options ?? {}) as Options;
  const attached = own(server, given);
  if (attached.stockReason !== undefined) return server;
  refuseUnsupported(given);
  attached.protocols = given.allowHTTP1 === true ? BOTH_VERSIONS : [H2];
  const secure = server as unknown as TlsServerObject;
  // Node's constructor has said what it speaks.
  server[tlsProvider] = new TlsServer(secure, { ...given, ALPNProtocols: secure.ALPNProtocols });
  standInFor(server, 'connection');
  standInFor(server, 'secureConnection');
  return server;
}

/** What a server of ours needs after Node's constructor. */
function own(server: ServerObject, { allowHTTP1 }: Options): AttachedServer {
  adopt(server, prototypeFor(Object.getPrototypeOf(server) as object));
  initializeServer(server, {});
  const attached = attachmentOf(server);
  attached.beginStreams = becomeSession;
  attached.welcome = welcome;
  if (allowHTTP1 === true) {
    attached.beginProtocol = beginHttp1;
  } else {
    attached.beginProtocol = beginSession;
    // Sessions last as long as their clients want.
    attached.settings.headersTimeout = attached.settings.requestTimeout = attached.settings.keepAliveTimeout = 0;
  }
  return attached;
}

function standInFor(server: ServerObject, event: 'connection' | 'secureConnection'): void {
  const [stock] = server.listeners(event) as Listener[];
  if (stock !== undefined) standIn(server, event, stock);
}

/** A connection that may have spoken HTTP/1 speaks HTTP/2. */
function becomeSession(connection: Connection): SessionStreams {
  const streams = new SessionStreams(connection);
  connection.speak(streams);
  return streams;
}

/** A connection can be used: its session is announced. */
function welcome(connection: Connection): void {
  if (connection.protocol instanceof SessionStreams) void connection.protocol.session;
  else if (connection.secure?.alpnProtocol === H2) void becomeSession(connection).session;
}
