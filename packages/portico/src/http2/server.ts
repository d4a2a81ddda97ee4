/**
 * Servers of `node:http2` on the engine: Node's own constructors run, and with them Node's compatibility API, which listens
 * to 'stream'; listening is that of our other servers, and sessions and streams are ours.
 */

import { StockIncomingMessage, StockServerResponse } from '../http/stock';
import { adopt, defineServerMembers, initializeServer, standIn } from '../http/server';
import { beginHttp1 } from '../http/http1';
import { releaseFromHttp } from '../http/socket-events';
import { TlsServer, type HandshakeOptions, type TlsServerObject } from '../https/tls-server';
import { reasonForNodeTls } from '../https/flags';
import { attachmentOf, type AttachedServer, type ServerObject } from '../lane/attached-server';
import type { Connection } from '../lane/connection';
import { leaveToNode } from '../lane/stock-server';
import { tlsProvider } from '../lane/tls-provider';
import type { Http2Options } from '../native/binding';
import { BOTH_VERSIONS, H2 } from '../native/http2-setting';
import { createNodeSecureServer, createNodeServer } from '../node/http2-servers';
import { refuseUnsupported } from '../tls/options';
import { installSecureContextRecorder, type RecordedOptions } from '../tls/secure-context';
import type { Settings } from './session-frames';
import { beginSession, SessionStreams } from './session-streams';
import { optionsOf } from './stock';

installSecureContextRecorder();

type Listener = (...args: unknown[]) => void;
type Options = HandshakeOptions & RecordedOptions & { allowHTTP1?: boolean };

/** As in Node: what limits a client is its session's memory. */
const MAX_STREAMS = 0xffffffff;

/** Prototypes of servers of ours, by those of Node's. */
const prototypes = new Map<object, object>();

function prototypeFor(below: object): object {
  const made = prototypes.get(below);
  if (made !== undefined) return made;
  const prototype = Object.create(below) as Record<string, unknown>;
  defineServerMembers(prototype);
  // Those that Node's have.
  for (const name of ['closeAllConnections', 'closeIdleConnections']) if (!(name in below)) delete prototype[name];
  if ('updateSettings' in below) {
    const { updateSettings } = below as { updateSettings: (settings: object) => void };
    Object.defineProperty(prototype, 'updateSettings', {
      value(this: object, settings: object): void {
        Reflect.apply(updateSettings, this, [settings]);
        // Sessions from now on begin with them.
        attachmentOf(this).scheduleUpdate();
      },
      writable: true, configurable: true,
    });
  }
  prototypes.set(below, prototype);
  return prototype;
}

/** `http2.createServer`. */
export function createServer(options?: unknown, listener?: unknown): object {
  const server = createNodeServer(options, listener) as ServerObject;
  const attached = own(server, {}, false);
  attached.protocols = [H2];
  standInFor(server, 'connection');
  return server;
}

/** `http2.createSecureServer`. */
export function createSecureServer(options?: unknown, listener?: unknown): object {
  const server = createNodeSecureServer(options, listener) as ServerObject;
  const reason = reasonForNodeTls();
  if (reason !== undefined) leaveToNode(attachmentOf(server), `https servers are served by node:https itself: ${reason}.`);
  const given = (options ?? {}) as Options;
  const attached = own(server, given, true);
  if (attached.stockReason !== undefined) return server;
  refuseUnsupported(given);
  // A client that has not asked for HTTP/2 is told so in bytes of HTTP/1: see `welcome`.
  attached.protocols = BOTH_VERSIONS;
  const secure = server as unknown as TlsServerObject;
  // Node's constructor has said what it speaks.
  server[tlsProvider] = new TlsServer(secure, { ...given, ALPNProtocols: secure.ALPNProtocols });
  standInFor(server, 'connection');
  standInFor(server, 'secureConnection');
  return server;
}

/** What a server of ours needs after Node's constructor. */
function own(server: ServerObject, { allowHTTP1 }: Options, isSecure: boolean): AttachedServer {
  adopt(server, prototypeFor(Object.getPrototypeOf(server) as object));
  initializeServer(server, allowHTTP1 === true ? http1Options(server) : {});
  const attached = attachmentOf(server);
  attached.beginStreams = becomeSession;
  attached.welcome = welcome;
  attached.http2 = () => sessionSettings(server);
  if (allowHTTP1 === true) {
    attached.beginProtocol = beginHttp1;
  } else {
    // Secure ones become sessions by their handshakes.
    attached.beginProtocol = isSecure ? beginHttp1 : beginSession;
    // Sessions last as long as their clients want.
    attached.settings.headersTimeout = attached.settings.requestTimeout = attached.settings.keepAliveTimeout = 0;
  }
  return attached;
}

/** Options of the requests that are none of HTTP/2. */
function http1Options(server: object): object {
  const { http1Options: given, Http1IncomingMessage, Http1ServerResponse } = optionsOf(server);
  const { IncomingMessage = Http1IncomingMessage, ServerResponse = Http1ServerResponse } = given ?? {};
  // Older versions of Node name their own where the program names none.
  return {
    ...(IncomingMessage !== StockIncomingMessage && { IncomingMessage }), ...(ServerResponse !== StockServerResponse && { ServerResponse }),
  };
}

function standInFor(server: ServerObject, event: 'connection' | 'secureConnection'): void {
  const [stock] = server.listeners(event) as Listener[];
  if (stock !== undefined) standIn(server, event, stock);
}

/** A connection that may have spoken HTTP/1 speaks HTTP/2. */
function becomeSession(connection: Connection): SessionStreams {
  const { existingSocket } = connection;
  if (existingSocket !== null) releaseFromHttp(existingSocket);
  const streams = new SessionStreams(connection);
  connection.speak(streams);
  if (existingSocket !== null) streams.attachSocket(existingSocket);
  return streams;
}

/** What sessions begin with: the server's settings, and limits with Node's defaults. */
function sessionSettings(server: object): Http2Options {
  const { settings = {}, maxHeaderListPairs = 128, maxSessionInvalidFrames } = optionsOf(server);
  const { headerTableSize, initialWindowSize, maxFrameSize, maxConcurrentStreams = MAX_STREAMS, enableConnectProtocol = false } = settings as Settings;
  const { maxHeaderListSize, maxHeaderSize } = settings as Settings;
  return {
    maxConcurrentStreams, enableConnectProtocol, maxFields: Math.max(4, maxHeaderListPairs),
    maxHeaderListSize: maxHeaderListSize ?? maxHeaderSize ?? 65_535,
    ...defined({ headerTableSize, initialWindowSize, maxFrameSize, maxInvalidFrames: maxSessionInvalidFrames }),
  };
}

function defined<Values extends object>(values: Values): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<Values>;
}

/** A connection can be used: its session is announced. */
function welcome(connection: Connection): void {
  if (connection.protocol instanceof SessionStreams) void connection.protocol.session;
  else if (connection.secure?.alpnProtocol === H2) void becomeSession(connection).session;
  else if (optionsOf(connection.server.server).allowHTTP1 !== true) refuseUnknown(connection);
}

/** A client of a secure server that has not asked for HTTP/2: the program's, or told what is expected of it. */
function refuseUnknown(connection: Connection): void {
  const { server } = connection.server;
  connection.takeOver();
  const { socket } = connection;
  releaseFromHttp(connection.laneSocket);
  if (socket.writableEnded || server.emit('unknownProtocol', socket)) return;
  const { unknownProtocolTimeout = 10_000 } = optionsOf(server);
  const timer = setTimeout(() => void socket.destroy(), unknownProtocolTimeout).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.end('HTTP/1.0 403 Forbidden\r\nContent-Type: text/plain\r\n\r\n'
    + 'Missing ALPN Protocol, expected `h2` to be available.\n'
    + 'If this is a HTTP request: The server was not configured with the `allowHTTP1` option or a listener for the `unknownProtocol` event.\n');
}
