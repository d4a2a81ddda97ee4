/**
 * One connection, as the application's side sees it: its token, its requests in flight, and its socket once touched.
 *
 * States: HTTP (the engine parses), tunnel (taken over: bytes pass both ways), closed (the engine has let it go).
 */

import process = require('node:process');
import { AsyncResource } from 'node:async_hooks';
import type { Socket } from 'node:net';
import * as layout from '../generated/layout';
import type { SecureInfo, TlsConnection } from './tls-provider';
import { NO_ADDRESSES, type Addresses } from './addresses';
import type { AttachedServer } from './attached-server';
import { sharedConnection } from './errors';
import type { Lane } from './lane';
import type { Protocol } from './protocol';
import { RawWrites, type Acknowledged, type RawWrite } from './raw-writes';
import { flagsOf } from './slab';
import type { WrittenAhead } from './socket-writes';
import { createSocket, pushReceived, showPaused, type LaneSocket } from './socket';
import type { WrittenChunk } from './writer';

const NO_BYTES = new Uint8Array(0);

/** A connection of this environment's engine. Its methods write commands; none blocks. */
export class Connection implements TlsConnection {
  readonly token: number;
  readonly lane: Lane;
  readonly server: AttachedServer;
  readonly flags: number;
  /** One asynchronous scope for all that happens on the connection, as the parser has in Node. */
  readonly resource: AsyncResource;
  /** Its requests and answers. */
  protocol: Protocol;
  /** Its requests are streams, each with a connection object of its own; this one has no answers. */
  hasStreams = false;
  /** Bytes pass as they are: upgraded, or CONNECT. */
  tunnel = false;
  /** They will behind the body that is arriving. */
  upgrading = false;
  /** The peer broke the protocol: this server says the last word on the connection. */
  refused = false;
  /** The server's own refusal of what the client has sent was written: it is the last that the client reads. */
  refusing = false;
  /** Gone: `CLOSED` was received. */
  closed = false;
  /** `DESTROY` was sent, or an answer behind which the connection ends whatever the program does. */
  destroying = false;
  /** The program listens to the socket's bytes while the engine parses them. */
  tapped = false;
  /** Our side ends after what has been handed over. */
  ending = false;
  /** The program has ended the socket: nothing more can be answered. */
  ended = false;
  /** Nothing is read: the program has paused the socket, or a byte stream's reader is behind. */
  paused = false;
  errno = 0;
  bytesRead = 0;
  bytesWritten = 0;
  secure: SecureInfo | undefined = undefined;
  timeoutMs = 0;
  /** The error `destroy` was called with before there was a socket. */
  error: Error | undefined = undefined;
  #rawWrites: RawWrites | null = null;
  /** Of the bytes that the socket's stream keeps, those that have been handed over before it gave them. */
  writtenAhead: WrittenAhead[] | null = null;
  #socket: LaneSocket | null = null;
  /** A host has ended TLS for it, and the server knows nothing of TLS. */
  #encryptedToHost = false;
  /** The socket below TLS, if the program saw it. */
  transport: Socket | null = null;
  #closeCallbacks: (() => void)[] | null = null;
  /** Both ends' addresses; their place in the lane's table while the connection is open. */
  #addresses: Addresses | number;

  protected constructor(lane: Lane, server: AttachedServer, token: number, flags: number, addresses: Addresses | number,
    begin = server.beginProtocol, requireManualDestroy = true) {
    this.resource = new AsyncResource('HTTPINCOMINGMESSAGE', { requireManualDestroy });
    this.lane = lane;
    this.server = server;
    this.token = token;
    this.flags = flags;
    this.#addresses = addresses;
    this.protocol = begin(this);
  }

  /** The connection that an `OPEN` record tells of. */
  static opened(lane: Lane, server: AttachedServer, at: number): Connection {
    const { words } = lane.slab;
    // Copied: the slab must not live as long as the connection.
    const place = lane.addresses.keep(words, at + layout.EventOpen.ENDPOINTS);
    return new Connection(lane, server, words[at + layout.EventOpen.TOKEN], flagsOf(words, at), place);
  }

  /** One that went before it was announced, for reports that name a socket. */
  static gone(lane: Lane, server: AttachedServer, token: number): Connection {
    const connection = new Connection(lane, server, token, 0, NO_ADDRESSES);
    connection.closed = true;
    return connection;
  }

  /** Made on first touch. */
  get socket(): Socket {
    return this.laneSocket as unknown as Socket;
  }

  get laneSocket(): LaneSocket {
    return this.#socket ?? this.makeSocket();
  }

  protected makeSocket(): LaneSocket {
    const { provider } = this.server;
    const socket = this.resource.runInAsyncScope(() => (provider === undefined
      ? createSocket(this)
      : provider.createSocket(this) as unknown as LaneSocket));
    if (this.origin.#encryptedToHost) socket.encrypted = true;
    // A socket asked for after the end is one that has ended; its 'close' has been, as far as programs can tell.
    if (this.destroying || this.closed && this.errno === 0) socket.destroy(this.error);
    return socket;
  }

  /** The connection has turned out to speak another protocol than the one that it began with. */
  speak(protocol: Protocol): void {
    this.protocol = protocol;
    this.hasStreams = true;
  }

  /** Whether this is one stream of a connection, and not a connection. */
  get isStream(): boolean {
    return false;
  }

  /** The connection that this is a stream of; else itself. */
  get origin(): Connection {
    return this;
  }

  /** What an answer's record says where the connection ends behind it. */
  get closeFlag(): number {
    return layout.RESPONSE_FLAG_CLOSE;
  }

  /** The client speaks TLS with a host, for a server of node:http: `socket.encrypted` says so, as frameworks ask it. */
  encryptedToHost(): void {
    this.#encryptedToHost = true;
    if (this.#socket !== null) this.#socket.encrypted = true;
  }

  /** The socket's constructor tells of it before it is complete. */
  adoptSocket(socket: LaneSocket): void {
    this.#socket = socket;
  }

  get hasSocket(): boolean {
    return this.#socket !== null;
  }

  /** The socket if it has been made. */
  get existingSocket(): LaneSocket | null {
    return this.#socket;
  }

  /** The program has ended or destroyed the socket: an answer that is given now goes nowhere. */
  get isOver(): boolean {
    return this.ended || this.destroying || this.#socket?.writableEnded === true;
  }

  /** Both ends' addresses. */
  get addresses(): Addresses {
    const addresses = this.#addresses;
    return typeof addresses === 'number' ? this.lane.addresses.read(addresses) : addresses;
  }

  /** Bytes read and written so far. The engine counts; what waits to be handed over is handed over first. */
  traffic(): readonly [number, number] {
    if (!this.closed) {
      // What a socket that is being destroyed keeps back is lost with it.
      if (this.#socket?.destroyed !== true) this.protocol.flush();
      const { engine, writer } = this.lane;
      const [read = this.bytesRead, written = this.bytesWritten] = engine.connectionTraffic(this.token);
      const waiting = writer.state[0];
      writer.submit();
      // What is handed over may end the connection: until its `CLOSED` comes, what was handed over is the best figure.
      [this.bytesRead, this.bytesWritten] = [read, written + waiting];
      const now = engine.connectionTraffic(this.token);
      if (now.length === 2) [this.bytesRead, this.bytesWritten] = now as [number, number];
    }
    return [this.bytesRead, this.bytesWritten];
  }

  /** The engine hands over no more of this body. Where there is a socket, it shows that it is paused, as Node's is. */
  holdBody(sequence: number): void {
    if (this.closed) return;
    this.lane.writer.aboutRequest(layout.COMMAND_PAUSE, this.token, sequence);
    if (this.#socket !== null) showPaused(this.#socket);
  }

  wantBody(sequence: number): void {
    if (!this.closed) this.lane.writer.aboutRequest(layout.COMMAND_RESUME, this.token, sequence);
  }

  /** Stops the engine from reading. */
  pause(): void {
    if (this.paused || this.closed) return;
    this.paused = true;
    this.lane.writer.aboutRequest(layout.COMMAND_PAUSE, this.token, 0);
  }

  resume(): void {
    if (!this.paused || this.closed) return;
    this.paused = false;
    this.lane.writer.aboutRequest(layout.COMMAND_RESUME, this.token, 0);
  }

  /** Of a request's body only the end is told from now on. Who listens to the socket's bytes gets them all the same. */
  discardBody(sequence: number): void {
    if (this.closed || this.destroying || this.tapped) return;
    this.lane.writer.discard(this.token, sequence);
  }

  /** Writes of bytes as they are. */
  get rawWrites(): RawWrites {
    return this.#rawWrites ??= new RawWrites(this);
  }

  /** Writes the record of one chunk, or of several with fewer than `EXTERNAL_BYTES` together. */
  sendRaw(flags: number, chunks: readonly WrittenChunk[], length: number): void {
    const { token, lane: { writer } } = this;
    if (chunks.length === 1) writer.raw(token, flags, chunks[0].chunk, length, chunks[0].encoding);
    else writer.rawJoined(token, 0, flags, chunks, length);
  }

  /** Bytes can't go out as they are: answers of other servers go the same way. */
  get isShared(): boolean {
    return (this.lane.isShared || this.hasStreams) && !this.tunnel && !this.upgrading && !this.refused;
  }

  /** Calls back when the kernel has all that was written. */
  whenWritten(acknowledged: Acknowledged): void {
    if (this.isShared) process.nextTick(acknowledged, null);
    else this.rawWrites.whenWritten(acknowledged);
  }

  /** The kernel has the oldest write that the engine was asked about. */
  written(): void {
    this.#rawWrites?.written();
  }

  /** The connection has gone: writes that still wait to be acknowledged. */
  takeWaitingWrites(): readonly RawWrite[] {
    return this.#rawWrites?.take() ?? [];
  }

  /** Bytes to parse as if they had been received. */
  feed(bytes: Uint8Array): void {
    if (this.isShared) throw sharedConnection('what its client sends is parsed by the host');
    if (!this.closed && !this.destroying) this.lane.writer.feed(this.token, bytes);
  }

  /** Shows listeners of the socket what the engine has read. */
  show(bytes: Buffer): void {
    const socket = this.#socket;
    if (socket === null || socket.destroyed) return;
    // At once: an error that follows destroys the socket. One listener is the server's own.
    if (socket.listenerCount('data') > 1) socket.emit('data', bytes);
    else pushReceived(socket, bytes);
  }

  /** Ends our side after what is queued; with `close`, the connection too. */
  shutdown(close: boolean): void {
    if (this.closed) return;
    // What its streams have begun goes on; the client opens no more.
    if (this.hasStreams && !close) return this.lane.writer.session(this.token, layout.SESSION_COMMAND_SHUT_DOWN, 0, 0, NO_BYTES);
    this.lane.writer.simple(layout.COMMAND_SHUTDOWN, close ? layout.SHUTDOWN_FLAG_CLOSE : 0, this.token);
  }

  /** Calls back when the engine has let the connection go: behind all ticks, as libuv does, an 'error' among them. */
  whenClosed(done: () => void): void {
    if (this.closed) setImmediate(done);
    else (this.#closeCallbacks ??= []).push(done);
  }

  /** `CLOSED` has come. A socket that is made from now on has ended, and tells no addresses. */
  close(): void {
    const place = this.#addresses;
    if (typeof place === 'number') {
      this.#addresses = this.#socket === null && this.errno === 0 ? NO_ADDRESSES : this.addresses;
      this.lane.addresses.release(place);
    }
    this.closed = true;
  }

  /** `CLOSED` has come: those who waited for it are told. */
  runCloseCallbacks(): void {
    const callbacks = this.#closeCallbacks;
    this.#closeCallbacks = null;
    callbacks?.forEach((done) => done());
  }

  /** Closes now. What was written before has had its chance to leave, as it has in Node, which writes at once. */
  abort(reset = false): void {
    if (this.closed || this.destroying) return;
    this.destroying = true;
    this.lane.writer.submit();
    const unread = this.protocol.dropUnread() ? layout.DESTROY_FLAG_UNREAD : 0;
    const flags = this.refusing ? layout.DESTROY_FLAG_LINGER : unread;
    this.lane.writer.simple(layout.COMMAND_DESTROY, reset ? layout.DESTROY_FLAG_RESET : flags, this.token);
  }

  /** Closes now for what the client has sent. A host, which must not be given bytes of a connection that others share, answers 400. */
  refuse(): void {
    if (this.closed || this.destroying) return;
    this.destroying = true;
    this.lane.writer.submit();
    this.lane.writer.simple(layout.COMMAND_DESTROY, layout.DESTROY_FLAG_BAD_REQUEST, this.token);
  }

  /** Gives an answer up: in its turn the connection ends. */
  destroyAnswer(sequence: number): void {
    if (!this.closed && !this.destroying) this.lane.writer.reset(this.token, sequence, layout.RESET_CODE_CANCEL);
  }

  /** Closes the connection; a socket that the program holds learns of it at once. */
  destroy(error?: Error): void {
    if (this.#socket !== null) {
      this.#socket.destroy(error);
    } else {
      this.error ??= error;
      this.abort();
    }
  }

  setTimeout(milliseconds: number): void {
    this.timeoutMs = milliseconds;
    if (!this.closed) this.lane.writer.setTimeout(this.token, milliseconds);
  }

  /** Whether the connection keeps the event loop alive. */
  setRef(referenced: boolean): void {
    if (!this.closed) this.lane.engine.setConnectionRef(this.token, referenced);
  }

  /** TCP options: 0 off, 1 on, 2 leave as it is. */
  setOptions(noDelay: number, keepAlive: number, delaySeconds: number): void {
    if (!this.closed) this.lane.writer.setSocket(this.token, noDelay, keepAlive, delaySeconds);
  }

  takeOver(): void {
    this.tunnel = true;
    this.lane.writer.simple(layout.COMMAND_TAKE_OVER, 0, this.token);
  }

  takeOverBehindBody(): void {
    this.upgrading = true;
    this.lane.writer.simple(layout.COMMAND_TAKE_OVER, layout.TAKE_OVER_FLAG_BEHIND_BODY, this.token);
  }

  /** The body has come behind which the connection was taken over. */
  becomeTunnel(): void {
    this.upgrading = false;
    this.tunnel = true;
  }

  proceed(): void {
    this.lane.writer.simple(layout.COMMAND_PROCEED, 0, this.token);
  }

  answerServerName(context: number): void {
    if (!this.closed) this.lane.writer.serverName(this.token, context);
  }

  answerAlpn(protocol: string | undefined | null): void {
    if (!this.closed) this.lane.writer.alpn(this.token, protocol);
  }
}
