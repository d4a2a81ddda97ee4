/**
 * The TLS side of one `https.Server`: the provider that the lane asks, and the events that it brings about.
 */

import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { attachmentOf } from '../lane/attached-server';
import { currentLane } from '../lane/lane';
import { isHeard } from '../node/observation';
import type { Engine } from '../native/binding';
import { BOTH_VERSIONS, H2, speaksHttp2 } from '../native/http2-setting';
import type { HandshakeSettings } from '../tls/context-options';
import type { RecordedOptions } from '../tls/secure-context';
import { appendKeyLog, keyLogFile } from './flags';
import type { TlsConnection, TlsListenerOptions, TlsProvider } from '../lane/tls-provider';
import { ServerContexts, recorded, type EngineContext } from './server-contexts';
import { findContext, type NamedContext } from './sni';
import { TlsHandshakes } from './handshakes';
import { createTlsSocket, refreshSocket } from './tls-socket';

/** Node's default. */
const HANDSHAKE_TIMEOUT_MS = 120_000;

/** Node's listeners that every server has for these events: what goes beyond them is the program's. */
const OWN_LISTENERS = { connection: 1, secureConnection: 1 };

/** What a server has beyond its types. */
export interface TlsServerObject extends Server {
  _sharedCreds: object;
  requestCert: boolean;
  rejectUnauthorized: boolean;
  ALPNProtocols?: Uint8Array;
  ALPNCallback?: unknown;
  ticketKeys?: Uint8Array;
}

/** Options of the constructor that Node keeps to itself. */
export interface HandshakeOptions {
  ALPNProtocols?: unknown;
  ALPNCallback?: unknown;
  SNICallback?: (this: Socket, servername: string, callback: (error: Error | null, context?: object) => void) => void;
  handshakeTimeout?: number;
}

/** A listener of the engine that serves the server. */
interface Attachment {
  engine: Engine;
  listener: number;
  update(): void;
}

export class TlsServer implements TlsProvider {
  readonly #server: TlsServerObject;
  readonly #options: HandshakeOptions;
  readonly #handshakes: TlsHandshakes;
  #contexts: ServerContexts;
  /** Node's server does not pass this option on to its context, though it is documented for both. */
  #allowPartialTrustChain: boolean | undefined;
  #named: NamedContext[] = [];
  /** What `SNICallback` answered, by connection. */
  readonly #chosen = new WeakMap<TlsConnection, object>();
  #attachment: Attachment | undefined;
  readonly #keyLogFile = keyLogFile();
  #keyLog = this.#keyLogFile !== undefined;
  /** Set once the program gave or read ticket keys: from then on they are fixed. */
  #ticketKeys: Uint8Array;

  /**
   * Makes the server's context in the engine, so that what can't be honoured throws here.
   *
   * @throws TlsOptionError
   */
  constructor(server: TlsServerObject, options: HandshakeOptions & RecordedOptions) {
    this.#server = server;
    this.#options = options;
    this.#ticketKeys = server.ticketKeys ?? new Uint8Array(0);
    this.#allowPartialTrustChain = options.allowPartialTrustChain;
    this.#handshakes = new TlsHandshakes(server);
    this.#contexts = this.#makeContexts();
  }

  #makeContexts(): ServerContexts {
    const { engine } = currentLane();
    const options = recorded(this.#server._sharedCreds, 'setSecureContext');
    const own = this.#allowPartialTrustChain ? { ...options, allowPartialTrustChain: true } : options;
    return new ServerContexts(engine, own, this.#handshakeSettings());
  }

  #handshakeSettings(): HandshakeSettings {
    const server = this.#server;
    return {
      requestCert: server.requestCert,
      rejectUnauthorized: server.rejectUnauthorized,
      alpn: server.ALPNCallback ? [] : this.#protocols(),
      ticketKeys: this.#ticketKeys,
      keyLog: this.#keyLog,
    };
  }

  /**
   * What the server says that it speaks. With `PORTICO_HTTP2`, HTTP/2 comes first, unless the program has said what it
   * speaks: Node's constructor puts HTTP/1.1 where it has not.
   */
  #protocols(): string[] {
    const { ALPNProtocols, ALPNCallback } = this.#options;
    const isGiven = ALPNProtocols !== undefined && ALPNProtocols !== null || Boolean(ALPNCallback);
    return !isGiven && speaksHttp2() ? [...BOTH_VERSIONS] : protocolNames(this.#server.ALPNProtocols);
  }

  /** Makes the contexts again, for new options or keys; connections from now on use them. */
  #renew(): void {
    const old = this.#contexts;
    this.#contexts = this.#makeContexts();
    const attachment = this.#attachment;
    if (attachment !== undefined) {
      for (const named of this.#named) this.#addServerName(attachment, named);
      attachment.update();
    }
    // The engine may still be asked for it until the update has arrived.
    setImmediate(() => old.release());
  }

  /**
   * `setSecureContext` gave the server a new SecureContext.
   *
   * @throws TlsOptionError, and then the old one stays in use
   */
  replaceContext(options: RecordedOptions): void {
    if (options.ticketKeys) this.#ticketKeys = options.ticketKeys;
    this.#allowPartialTrustChain = options.allowPartialTrustChain;
    this.#renew();
  }

  /** `addContext`. @throws TlsOptionError */
  addContext(pattern: string, context: object): void {
    const named = { pattern, context };
    this.#contexts.of(context, 'addContext');
    this.#named.push(named);
    if (this.#attachment !== undefined) this.#addServerName(this.#attachment, named);
  }

  #addServerName({ engine, listener }: Attachment, { pattern, context }: NamedContext): void {
    engine.addServerName(listener, pattern, this.#contexts.of(context, 'addContext'));
  }

  /** `setTicketKeys`, and `getTicketKeys` with the keys that it tells. */
  useTicketKeys(keys: Uint8Array): void {
    if (Buffer.compare(this.#ticketKeys, keys) === 0) return;
    this.#ticketKeys = Uint8Array.from(keys);
    this.#renew();
  }

  /** The program listens to 'keylog'. */
  wantKeyLog(): void {
    if (this.#keyLog) return;
    this.#keyLog = true;
    this.#renew();
  }

  listenerOptions(): TlsListenerOptions {
    return {
      tls: this.#contexts.own,
      askServerName: this.#options.SNICallback !== undefined && this.#options.SNICallback !== null,
      askAlpn: Boolean(this.#server.ALPNCallback),
      handshakeTimeout: this.#options.handshakeTimeout || HANDSHAKE_TIMEOUT_MS,
      // Which of them a connection speaks is the handshake's decision.
      ...(Boolean(this.#server.ALPNCallback) || this.#protocols().includes(H2) ? { protocols: BOTH_VERSIONS } : {}),
      // Else the engine tells of a connection with its first request, and of one without any not at all.
      ...(this.#isWatched || attachmentOf(this.#server).welcome !== undefined ? { notifyOpen: true } : {}),
    };
  }

  /** Whether the program listens to what comes before a connection's first request. */
  get #isWatched(): boolean {
    return this.#handshakes.areHeard
      || isHeard(this.#server, 'secureConnection', OWN_LISTENERS.secureConnection)
      || isHeard(this.#server, 'connection', OWN_LISTENERS.connection);
  }

  /** The program listens to a connection's beginning. */
  wantConnections(): void {
    this.#attachment?.update();
  }

  attached(engine: Engine, listener: number, update: () => void): void {
    this.#attachment = { engine, listener, update };
    for (const named of this.#named) this.#addServerName(this.#attachment, named);
  }

  detached(listener: number): void {
    if (this.#attachment?.listener === listener) this.#attachment = undefined;
  }

  createSocket(connection: TlsConnection): Socket {
    const context = (): EngineContext => this.#contexts.find(this.#contextOf(connection));
    return createTlsSocket(connection, {
      ownChain: () => context().chain, authorities: () => context().ca, signatures: () => context().signatures,
    });
  }

  /** The SecureContext that the connection's name chose; undefined: the server's own. */
  #contextOf(connection: TlsConnection): object | undefined {
    return this.#chosen.get(connection.origin) ?? findContext(this.#named, connection.secure?.servername ?? '');
  }

  secure(connection: TlsConnection): boolean {
    if (connection.hasSocket) refreshSocket(connection.socket, connection);
    if (!isHeard(this.#server, 'secureConnection', OWN_LISTENERS.secureConnection) || this.#hasStreamSockets(connection)) return true;
    const { socket } = connection;
    this.#server.emit('secureConnection', socket);
    return !socket.destroyed;
  }

  /** Requests of HTTP/2 have sockets of their own, and those are announced. Not those of node:http2. */
  #hasStreamSockets({ secure }: TlsConnection): boolean {
    return secure?.alpnProtocol === H2 && attachmentOf(this.#server).welcome === undefined;
  }

  serverName(connection: TlsConnection, servername: string): void {
    const { SNICallback } = this.#options;
    if (servername === '' || !SNICallback) {
      connection.answerServerName(this.#named.length === 0 ? this.#contexts.own : this.#ofName(servername));
      return;
    }
    this.#handshakes.askServerName(connection, servername, SNICallback, (context) => {
      if (context !== undefined) this.#chosen.set(connection, context);
      connection.answerServerName(context === undefined ? this.#contexts.own : this.#contexts.of(context, 'SNICallback'));
    });
  }

  #ofName(servername: string): number {
    const context = findContext(this.#named, servername);
    return context === undefined ? this.#contexts.own : this.#contexts.of(context, 'addContext');
  }

  alpn(connection: TlsConnection, servername: string, protocols: string[]): void {
    this.#handshakes.askAlpn(connection, servername, protocols, this.#server.ALPNCallback);
  }

  keyLog(connection: TlsConnection, line: Buffer): void {
    if (this.#keyLogFile !== undefined) appendKeyLog(this.#keyLogFile, line);
    if (this.#server.listenerCount('keylog') > 0) this.#server.emit('keylog', line, connection.socket);
  }

  tlsError(connection: TlsConnection, text: string): void {
    this.#handshakes.failed(connection, text);
  }

  handshakeTimeout(connection: TlsConnection): void {
    this.#handshakes.timedOut(connection);
  }

  closedEarly(connection: TlsConnection): void {
    this.#handshakes.closedEarly(connection);
  }
}

/** ALPN's wire form, a length byte before each name, as a list. */
export function protocolNames(wire: Uint8Array | undefined): string[] {
  const names: string[] = [];
  for (let at = 0; wire !== undefined && at < wire.length; at += 1 + wire[at]) {
    names.push(Buffer.from(wire.subarray(at + 1, at + 1 + wire[at])).toString('latin1'));
  }
  return names;
}
