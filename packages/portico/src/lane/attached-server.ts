/**
 * What a server of Node's is to the lane: its listeners' settings, its number in the engine, its events.
 *
 * One for each `http.Server` or `https.Server` of ours, made when the server is constructed; attached to the engine
 * while it listens.
 */

import type { Server } from 'node:http';
import net = require('node:net');
import { tlsProvider, type TlsListenerOptions, type TlsProvider } from './tls-provider';
import * as layout from '../generated/layout';
import { hasPatchedEmit, isHeard } from '../node/observation';
import type { Http2Options, ListenerOptions } from '../native/binding';
import { isAtLeast } from '../node/version';
import type { Connection } from './connection';
import { currentLane, existingLane, type Lane } from './lane';
import type { BeginProtocol } from './protocol';

/** Node's default for `maxHeadersCount`: its 2,000 counts names and values. */
const MAX_HEADERS = 1000;
/** Whether a head with more fields than `maxHeadersCount` is refused (431; newest versions), not cut. */
const refusesManyHeaders = isAtLeast(24, 20) && !isAtLeast(25, 0) || isAtLeast(26, 0);
/** Whether `closeIdleConnections()` closes connections that have not begun a request yet (Node 26). */
const closesSilent = isAtLeast(26, 0);

/** Settings that programs change while the server listens. */
export interface Settings {
  headersTimeout: number;
  requestTimeout: number;
  keepAliveTimeout: number;
  /** Undefined in versions of Node that have no such setting. */
  keepAliveTimeoutBuffer: number | undefined;
  timeout: number;
  maxRequestsPerSocket: number;
  maxHeadersCount: number | null;
  maxConnections: number | undefined;
}

/** Names of the settings, as they are on a server. */
export type SettingName = keyof Settings;

/** The server with what Node keeps on it. */
export interface ServerObject extends Server {
  allowHalfOpen: boolean;
  _handle: unknown;
  _connections: number;
  _emitCloseIfDrained(): void;
  connectionsCheckingInterval?: number;
  maxHeaderSize?: number;
  noDelay?: boolean;
  keepAlive?: boolean;
  keepAliveInitialDelay?: number;
  highWaterMark?: number;
  requireHostHeader?: boolean;
  joinDuplicateHeaders?: boolean;
  rejectNonStandardBodyWrites?: boolean;
  httpAllowHalfOpen?: boolean;
  insecureHTTPParser?: boolean;
  httpValidation?: string;
  shouldUpgradeCallback?: (request: unknown) => boolean;
  [tlsProvider]?: TlsProvider;
}

/** The lane's side of a server. */
export class AttachedServer {
  readonly server: ServerObject;
  readonly settings: Settings = {
    headersTimeout: 60_000, requestTimeout: 300_000, keepAliveTimeout: 5000, keepAliveTimeoutBuffer: undefined, timeout: 0,
    maxRequestsPerSocket: 0, maxHeadersCount: null, maxConnections: undefined,
  };
  /** What its connections speak. Set before the server listens. */
  beginProtocol!: BeginProtocol;
  /** And if its requests turn out to be streams. */
  beginStreams!: BeginProtocol;
  /** The versions of HTTP that its listener takes, as ALPN names them; undefined: HTTP/1. Else a TLS server's provider tells them. */
  protocols: readonly string[] | undefined = undefined;
  /** What its sessions of HTTP/2 begin with, where its program says so; they are told of what is not about a stream. */
  http2: (() => Http2Options) | undefined = undefined;
  /** Called with each connection that can be used: after its handshake, where it has one. */
  welcome: ((connection: Connection) => void) | undefined = undefined;
  /** Classes given as options; undefined: ours. */
  incomingMessage: (new (socket: unknown) => object) | undefined = undefined;
  serverResponse: (new (request: unknown, options: object) => object) | undefined = undefined;
  /** `uniqueHeaders`, as Node has parsed it. */
  uniqueHeaders: Set<string> | null = null;
  optimizeEmptyRequests = false;
  /** Why Node's own stack serves this server; undefined: it does not. */
  stockReason: string | undefined = undefined;
  /** Ours in the place of Node's listeners of 'connection' and 'secureConnection'. */
  readonly ownListeners: [event: string, listener: (...args: never[]) => void][] = [];
  /** `server._handle`. */
  handle: object | null = null;
  /** Connections that Node's own stack serves. */
  extraConnections = 0;
  /** Of this environment's own engine, if that serves it. */
  lane: Lane | undefined;
  /** Lanes of its registrations at hosts, and what is done with each when its last connection has gone. */
  readonly #hosted = new Map<Lane, () => void>();
  /** Lanes that bring no new connections: the listener was closed, or the host has handed over. */
  readonly #retired = new Set<Lane>();
  /** Registrations whose host has been told that the server stops, and has not heard it yet. */
  #leaving = 0;
  /** Number in the engine, -1 if it has none. */
  listener = -1;
  /** Whether the listener is open; its connections may outlive it. */
  listening = false;
  /** The server's 'close' is on its way: Node's method would emit it once more at each call. */
  drained = false;
  referenced = true;
  /** The engine was asked to announce connections when it accepts them. */
  announced = false;
  #updateScheduled = false;

  constructor(server: ServerObject) {
    this.server = server;
  }

  get provider(): TlsProvider | undefined {
    return this.server[tlsProvider];
  }

  /** Whether connections are the server's: a program may have removed the listeners that stand for that. */
  get keepsOwnListeners(): boolean {
    return this.ownListeners.every(([event, listener]) => this.server.listeners(event).includes(listener as () => void));
  }

  get highWaterMark(): number | undefined {
    return this.server.highWaterMark;
  }

  /** Listens on a bound socket. Throws what `Engine.listen` throws. */
  listen(fd: number, backlog: number): void {
    this.#attach((lane, options) => lane.engine.listen(fd, backlog, options));
  }

  /** Waits for connections that come by `adopt`. */
  createListener(): void {
    this.#attach((lane, options) => lane.engine.createListener(options));
  }

  adopt(fd: number): void {
    this.lane?.engine.adopt(this.listener, fd);
  }

  #attach(open: (lane: Lane, options: ListenerOptions) => number): void {
    const lane = currentLane();
    this.lane = lane;
    this.#retired.delete(lane);
    this.listener = open(lane, this.options(lane));
    this.listening = true;
    lane.servers.set(this.listener, this);
    lane.engine.setRef(this.listener, this.referenced);
    this.provider?.attached(lane.engine, this.listener, () => this.scheduleUpdate());
  }

  /** Takes the lane of a registration at a host; its only listener is the server. `drained` is called when it is needed no more. */
  attachToHost(lane: Lane, drained: () => void): void {
    this.listening = true;
    this.#hosted.set(lane, drained);
    lane.servers.set(0, this);
    lane.engine.setRef(0, this.referenced);
  }

  /** A host has handed over. It still gives requests of the connections that it has, until it ends. */
  retire(lane: Lane): void {
    this.#retired.add(lane);
    lane.engine.setRef(0, false);
  }

  /** A host is lost: its lane has no connections and gets none. */
  forget(lane: Lane): void {
    this.#retired.delete(lane);
    this.#hosted.delete(lane);
    this.connectionGone();
  }

  /** A host is told that the server stops: until it has heard, the server has not closed. */
  beginLeaving(): void {
    this.#leaving++;
  }

  /** It has heard. */
  endLeaving(): void {
    this.#leaving--;
  }

  /** Lets go of hosts' lanes without connections, once the hosts know that the server has stopped. */
  #dropDrained(): void {
    if (this.listening || this.#leaving > 0) return;
    for (const [lane, drained] of [...this.#hosted]) {
      if (lane.engine.connectionCount(0) > 0) continue;
      this.#retired.delete(lane);
      this.#hosted.delete(lane);
      // Not in the midst of its own events.
      setImmediate(drained);
    }
  }

  /** Stops accepting. */
  close(): void {
    if (!this.listening) return;
    this.listening = false;
    for (const lane of this.#openLanes()) {
      lane.writer.submit();
      lane.engine.closeListener(this.#listenerOf(lane));
      // A host has the certificates of its applications.
      if (lane === this.lane) this.#closed(lane);
      this.#retired.add(lane);
    }
    this.#forgetIfDrained();
  }

  /** A listener of our own has closed. Connections of HTTP/2 are told now to end when their streams have. */
  #closed(lane: Lane): void {
    if (this.protocolsOf(lane) !== undefined) this.closeIdleConnections();
    this.provider?.detached(this.listener);
  }

  /** A closed listener without connections has no more events. */
  #forgetIfDrained(): void {
    if (this.connectionCount > 0) return;
    for (const lane of this.#lanes()) lane.servers.delete(this.#listenerOf(lane));
    // Its listener's number may become another server's.
    this.lane = undefined;
  }

  setRef(referenced: boolean): void {
    this.referenced = referenced;
    if (!this.listening) return;
    for (const lane of this.#openLanes()) lane.engine.setRef(this.#listenerOf(lane), referenced);
  }

  /** Open connections, as the engines count them. */
  get connectionCount(): number {
    let count = this.lane === undefined ? 0 : this.lane.engine.connectionCount(this.listener);
    for (const lane of this.#hosted.keys()) count += lane.engine.connectionCount(0);
    return count + this.#leaving;
  }

  closeIdleConnections(): void {
    for (const lane of this.#lanes()) {
      // As in Node, a request whose handler still runs has not been read to its end, so its connection is not idle.
      const flags = (lane.dispatching ? 0 : layout.CLOSE_IDLE_FLAG_UNSENT) | (closesSilent ? layout.CLOSE_IDLE_FLAG_SILENT : 0);
      lane.writer.simple(layout.COMMAND_CLOSE_IDLE, flags, this.#listenerOf(lane));
      lane.writer.submit();
    }
  }

  closeAllConnections(): void {
    const lanes = this.#lanes();
    // Sockets that the program holds are destroyed at once, as in Node; the engine does the rest. Both leave tunnels,
    // which are not HTTP, as they are. An engine's thread may know none any more of which this thread has yet to read.
    for (const lane of new Set([...lanes, existingLane()])) {
      for (const connection of lane?.connections ?? []) {
        if (connection?.server === this && !connection.tunnel) connection.destroy();
      }
    }
    for (const lane of lanes) {
      lane.writer.simple(layout.COMMAND_CLOSE_ALL, 0, this.#listenerOf(lane));
      lane.writer.submit();
    }
    if (lanes.length > 0) this.connectionGone();
  }

  /** Where the server's connections are. */
  #lanes(): Lane[] {
    return this.lane === undefined ? [...this.#hosted.keys()] : [this.lane, ...this.#hosted.keys()];
  }

  /** Those of them that bring new connections. */
  #openLanes(): Lane[] {
    return this.#lanes().filter((lane) => !this.#retired.has(lane));
  }

  /** The server's number in a lane: in that of a registration it is the only one. */
  #listenerOf(lane: Lane): number {
    return lane === this.lane ? this.listener : 0;
  }

  set<Name extends SettingName>(name: Name, value: Settings[Name]): void {
    this.settings[name] = value;
    this.scheduleUpdate();
  }

  /** Tells the engine of new settings, once for all that change in one tick. */
  scheduleUpdate(): void {
    if (!this.listening || this.#updateScheduled) return;
    this.#updateScheduled = true;
    queueMicrotask(() => {
      this.#updateScheduled = false;
      if (!this.listening) return;
      for (const lane of this.#openLanes()) lane.engine.updateListener(this.#listenerOf(lane), this.options(lane));
    });
  }

  options(lane: Lane): ListenerOptions {
    const { server, settings } = this;
    return {
      // A reset is a 'clientError' even where no request was begun.
      notifyOpen: this.#isWatched(),
      headersTimeout: duration(settings.headersTimeout),
      requestTimeout: duration(settings.requestTimeout),
      keepAliveTimeout: duration(settings.keepAliveTimeout),
      // Where Node has no such property (20), it adds a second all the same.
      keepAliveTimeoutBuffer: duration(settings.keepAliveTimeoutBuffer ?? 1000),
      timeout: duration(settings.timeout),
      connectionsCheckingInterval: duration(server.connectionsCheckingInterval ?? 30_000),
      maxRequestsPerSocket: count(settings.maxRequestsPerSocket),
      // Older versions of Node cut the list where the limit is and serve the request; so does `maxFields` below.
      maxHeadersCount: refusesManyHeaders && Number.isFinite(this.maxFields) ? this.maxFields : 0,
      maxHeaderSize: maxHeaderSizeOf(server),
      // Who gets the request does not depend on it here: what a Host is worth is the program's business, as in Node.
      strictHost: false,
      maxConnections: typeof settings.maxConnections === 'number' ? count(settings.maxConnections) : -1,
      noDelay: server.noDelay ?? true,
      keepAlive: server.keepAlive ?? false,
      // `net.Server` keeps seconds.
      keepAliveInitialDelay: (server.keepAliveInitialDelay ?? 0) * 1000,
      highWaterMark: server.highWaterMark ?? 64 * 1024,
      ...this.#tlsOptions(lane),
      protocols: this.protocolsOf(lane),
      ...(this.http2 !== undefined && { http2: this.http2(), notifySession: true }),
    };
  }

  /** What the listener takes: undefined is HTTP/1 alone. */
  protocolsOf(lane: Lane): readonly string[] | undefined {
    return this.protocols ?? this.#tlsOptions(lane).protocols;
  }

  /** Whether connections are announced when they are accepted, and not with their first request. */
  #isWatched(): boolean {
    const { server } = this;
    this.announced = this.welcome !== undefined || isHeard(server, 'connection', 1) || isHeard(server, 'clientError') || hasPatchedEmit(net.Socket.prototype);
    return this.announced;
  }

  #tlsOptions(lane: Lane): TlsListenerOptions {
    return this.provider?.listenerOptions(lane.engine) ?? { tls: 0, askServerName: false, askAlpn: false, handshakeTimeout: 0 };
  }

  /** Header fields that requests show; the rest is cut off. */
  get maxFields(): number {
    const { maxHeadersCount } = this.settings;
    const limit = typeof maxHeadersCount === 'number' ? count(maxHeadersCount) : MAX_HEADERS;
    return limit === 0 ? Infinity : limit;
  }

  /** A connection has gone: the server may have been waiting for it. */
  connectionGone(): void {
    if (this.#hosted.size > 0) this.#dropDrained();
    if (this.listening) return;
    this.#forgetIfDrained();
    if (!this.drained) this.server._emitCloseIfDrained();
  }
}

function duration(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.min(Math.floor(value), 0x7fffffff) : 0;
}

function count(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

/** Bytes of a request's head that a server takes: its option, or that of the process. */
export function maxHeaderSizeOf(server: ServerObject): number {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return server.maxHeaderSize || (require('node:http') as typeof import('node:http')).maxHeaderSize;
}

const attachments = new WeakMap<object, AttachedServer>();

/** The lane's side of a server, made at the first call. */
export function attachmentOf(server: object): AttachedServer {
  let attached = attachments.get(server);
  if (attached === undefined) {
    attached = new AttachedServer(server as ServerObject);
    attachments.set(server, attached);
  }
  return attached;
}
