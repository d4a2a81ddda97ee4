/**
 * `ServerHttp2Session`: one connection of a server of `node:http2`. What it tells its client and hears of it besides streams
 * (settings, pings and their like) is in `session-frames.ts`.
 */

import { EventEmitter } from 'node:events';
import { constants } from 'node:http2';
import type { Socket } from 'node:net';
import process = require('node:process');
import { format, inspect } from 'node:util';
import { COMMAND_PAUSE, COMMAND_RESUME } from '../generated/layout';
import type { Connection } from '../lane/connection';
import type { CommandWriter } from '../lane/writer';
import * as errors from './errors';
import { Pushes } from './pushes';
import { proxySocket } from './session-socket';
import { SessionFrames, type Settings } from './session-frames';
import { kSocket, optionsOf, sessionsOf, stockSession, type SessionOptions } from './stock';
import type { ServerHttp2Stream } from './server-stream';
import { defineTimeout, refreshTimeout, stopTimeout } from './timeouts';

const { NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL, NGHTTP2_SESSION_SERVER } = constants as typeof constants & Record<string, number>;

/** Where a stream's records go. */
export interface Link {
  readonly writer: CommandWriter;
  readonly token: number;
  readonly pause: number;
  readonly resume: number;
}

/** A stream that has been destroyed, whose bytes are still to be sent before it is reset. */
interface Lingering {
  /** Records that are still to be acknowledged. */
  count: number;
  readonly code: number;
}

/** A client's connection. */
export class ServerHttp2Session extends EventEmitter {
  readonly #connection: Connection;
  readonly #link: Link;
  readonly #streams = new Map<number, ServerHttp2Stream>();
  readonly #lingering = new Map<number, Lingering>();
  readonly options: SessionOptions;
  /** Why it was destroyed; 0: for no error. */
  destroyCode: number = NGHTTP2_NO_ERROR;
  readonly type = NGHTTP2_SESSION_SERVER;
  readonly connecting = false;
  readonly encrypted: boolean;
  readonly alpnProtocol: string;
  goawayCode: number = NGHTTP2_NO_ERROR;
  goawayLastStreamID = 0;
  closed = false;
  destroyed = false;
  /** The highest number of a stream that the client has opened. */
  lastStreamId = 0;
  #isOver = false;
  #proxy: object | undefined;
  readonly #frames: SessionFrames;
  /** The connection's bytes at the timer's last end. */
  #bytesAtTimeout = -1;
  declare setTimeout: (milliseconds: number, callback?: () => void) => this;
  /** `setTimeout`'s value. */
  timeout: number | undefined;

  constructor(connection: Connection) {
    super();
    const { server } = connection.server;
    this.#connection = connection;
    this.#link = { writer: connection.lane.writer, token: connection.token, pause: COMMAND_PAUSE, resume: COMMAND_RESUME };
    this.options = optionsOf(server);
    this.encrypted = connection.server.provider !== undefined;
    this.alpnProtocol = this.encrypted ? connection.secure?.alpnProtocol ?? 'h2' : 'h2c';
    this.#frames = new SessionFrames(this, this.#link, connection.lane.isShared);
    // Node's compatibility API looks here for what it shows as the socket of a request.
    Object.defineProperty(this, kSocket, { get: () => this.boundSocket, configurable: true });
    sessionsOf(server)?.add(this);
  }

  /** Where its streams write; undefined: nothing can be written any more. */
  get link(): Link | undefined {
    return this.#connection.closed || this.#connection.destroying ? undefined : this.#link;
  }

  get server(): unknown {
    return this.#connection.server.server;
  }

  /** The connection's socket, until the session is over. */
  get boundSocket(): object | undefined {
    return this.#isOver ? undefined : this.#connection.socket;
  }

  get socket(): object | undefined {
    return this.#isOver ? undefined : this.#proxy ??= proxySocket(this);
  }

  get originSet(): string[] | undefined {
    if (!this.encrypted || this.destroyed) return undefined;
    const { servername } = this.#connection.secure ?? {};
    const { remoteAddress = '', remotePort, remoteFamily } = this.#connection.addresses;
    const host = servername || (remoteFamily === 'IPv6' ? `[${remoteAddress}]` : remoteAddress);
    return [new URL(`https://${host}:${remotePort}`).origin];
  }

  get state(): object {
    return this.destroyed ? {} : this.#frames.state();
  }

  // Streams.

  /** A stream has been opened. */
  adopt(stream: ServerHttp2Stream): void {
    this.#streams.set(stream.id, stream);
    if (stream.id % 2 === 1) this.lastStreamId = stream.id;
  }

  stream(id: number): ServerHttp2Stream | undefined {
    return this.#streams.get(id);
  }

  /** A stream has been destroyed. */
  forget(stream: ServerHttp2Stream): void {
    this.#streams.delete(stream.id);
    setImmediate(() => this.#endIfDone());
  }

  /** Resets a stream behind what it has written: so many records are still to be acknowledged. */
  resetLater(id: number, count: number, code: number): void {
    this.#lingering.set(id, { count, code });
  }

  /** Records of a stream that is gone have been sent. */
  flushedLingering(id: number, count: number): void {
    const stream = this.#lingering.get(id);
    if (stream === undefined || (stream.count -= count) > 0) return;
    this.#lingering.delete(id);
    this.link?.writer.reset(this.#link.token, id, stream.code);
    this.#endIfDone();
  }

  // What is told of the connection.

  /** Names that a section has once may not be repeated. */
  get isStrict(): boolean {
    return this.options.strictSingleValueFields ?? true;
  }

  /** Streams that are promised. */
  readonly pushes = new Pushes();

  get frames(): SessionFrames {
    return this.#frames;
  }

  get localSettings(): Settings {
    return this.destroyed ? {} : this.#frames.localSettings;
  }

  get remoteSettings(): Settings {
    return this.destroyed ? {} : this.#frames.remoteSettings;
  }

  get pendingSettingsAck(): boolean {
    return this.#frames.pendingSettings > 0;
  }

  settings(settings?: Settings, callback?: (error: Error | null, settings?: Settings, duration?: number) => void): void {
    this.#checkAlive();
    this.#frames.changeSettings(settings, callback);
  }

  ping(...args: unknown[]): boolean {
    this.#checkAlive();
    return this.#frames.ping(...args);
  }

  goaway(code?: number, lastStreamID?: number, opaqueData?: NodeJS.ArrayBufferView): void {
    this.#checkAlive();
    this.#frames.goAway(code, lastStreamID, opaqueData);
  }

  altsvc(alt: string, originOrStream?: unknown): void {
    this.#checkAlive();
    this.#frames.alternative(alt, originOrStream);
  }

  origin(...origins: unknown[]): void {
    this.#checkAlive();
    this.#frames.origins(origins);
  }

  setLocalWindowSize(size: number): void {
    this.#checkAlive();
    this.#frames.setWindow(size);
  }

  #checkAlive(): void {
    if (this.destroyed) throw errors.http2Error('ERR_HTTP2_INVALID_SESSION');
  }

  /** The client has said that it will not go on. */
  receiveGoAway(code: number, lastStreamId: number, debugData: Buffer | undefined): void {
    this.goawayCode = code;
    this.goawayLastStreamID = lastStreamId;
    this.emit('goaway', code, lastStreamId, debugData);
    if (code === NGHTTP2_NO_ERROR) this.close();
    else this.destroy(errors.sessionError(code), NGHTTP2_NO_ERROR);
  }

  /** The client broke the protocol: the engine ends the connection, and has told the client why. */
  fail(code: number, reason: string): void {
    this.destroy(errors.protocolError(code, reason.includes('preface')), code);
  }

  // The end.

  /** No more streams, and the end behind the last one. */
  close(callback?: () => void): void {
    if (this.closed || this.destroyed) return;
    this.closed = true;
    if (typeof callback === 'function') this.once('close', callback);
    // The engine's first frame is SETTINGS, which it sends when the client has begun (RFC 9113, section 3.4).
    this.#frames.whenBegun(() => {
      this.#frames.shutDown();
      this.#endIfDone();
    });
  }

  #endIfDone(): void {
    const isDone = this.#streams.size === 0 && this.#lingering.size === 0 && this.pushes.isEmpty;
    if (this.closed && !this.destroyed && isDone && this.#frames.hasBegun) this.destroy();
  }

  destroy(error: Error | number | null = NGHTTP2_NO_ERROR, code?: number): void {
    if (this.destroyed) return;
    const reason = typeof error === 'number' ? error === NGHTTP2_NO_ERROR ? undefined : errors.sessionError(error) : error ?? undefined;
    this.destroyCode = typeof error === 'number' ? error : code ?? (reason === undefined ? NGHTTP2_NO_ERROR : NGHTTP2_INTERNAL_ERROR);
    this.#end(reason);
    this.#frames.sayGoodbye(this.destroyCode);
    if (this.closed) this.#connection.shutdown(true);
    else this.#connection.destroy();
    this.#connection.whenClosed(() => this.#tellEnd(reason));
  }

  /** The connection has gone. */
  lose(): void {
    if (this.destroyed) return;
    for (const stream of [...this.#streams.values()]) stream.close(NGHTTP2_CANCEL);
    this.closed = true;
    this.#end(undefined);
    process.nextTick(() => this.#tellEnd(undefined));
  }

  #end(reason: Error | undefined): void {
    this.destroyed = true;
    stopTimeout(this);
    this.removeAllListeners('timeout');
    for (const stream of [...this.#streams.values()]) stream.destroy(reason);
    this.#lingering.clear();
  }

  #tellEnd(reason: Error | undefined): void {
    this.#isOver = true;
    sessionsOf(this.#connection.server.server)?.delete(this);
    this.#frames.cancel();
    this.pushes.cancel();
    if (reason !== undefined) this.emit('error', reason);
    this.emit('close');
  }

  [Symbol.for('nodejs.rejection')](error: Error, event: string, ...args: unknown[]): void {
    if (event === 'stream') (args[0] as ServerHttp2Stream).destroy(error);
    else this.destroy(error);
  }

  // Time.

  /** Something has been read or sent on it. */
  noteActivity(): void {
    refreshTimeout(this);
  }

  /** `setTimeout`'s timer has run out. */
  _onTimeout(): void {
    if (this.destroyed) return;
    const before = this.#bytesAtTimeout;
    const isWriting = [...this.#streams.values()].some((stream) => stream.bufferSize > 0);
    if (isWriting && (this.#bytesAtTimeout = this.bytesSent) !== before) this.noteActivity();
    else this.emit('timeout');
  }

  /** Bytes that the kernel has taken of the connection. */
  get bytesSent(): number {
    return this.#connection.traffic()[1];
  }

  ref(): void {
    (this.boundSocket as Socket | undefined)?.ref();
  }

  unref(): void {
    (this.boundSocket as Socket | undefined)?.unref();
  }

  [inspect.custom](depth: number): unknown {
    if (depth < 0) return this;
    const { type, closed, destroyed, state, localSettings, remoteSettings } = this;
    return `Http2Session ${format({ type, closed, destroyed, state, localSettings, remoteSettings })}`;
  }
}

defineTimeout(ServerHttp2Session.prototype);
// For `instanceof`: all members are ours.
Object.setPrototypeOf(ServerHttp2Session.prototype, stockSession);
