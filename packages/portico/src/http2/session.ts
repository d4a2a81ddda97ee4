/**
 * `ServerHttp2Session`: one connection of a server of `node:http2`. What it can't say to the client yet (settings, pings and
 * their like) is not here: docs/http2.md has the list.
 */

import { EventEmitter } from 'node:events';
import { constants, type Settings } from 'node:http2';
import process = require('node:process');
import { COMMAND_PAUSE, COMMAND_RESUME } from '../generated/layout';
import type { Connection } from '../lane/connection';
import type { CommandWriter } from '../lane/writer';
import * as errors from './errors';
import { kSocket, sessionsOf } from './stock';
import type { ServerHttp2Stream } from './server-stream';

const { NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL, NGHTTP2_SESSION_SERVER } = constants as typeof constants & Record<string, number>;

/** Where a stream's records go. */
export interface Link {
  readonly writer: CommandWriter;
  readonly token: number;
  readonly pause: number;
  readonly resume: number;
}

/** A client's connection. */
export class ServerHttp2Session extends EventEmitter {
  readonly #connection: Connection;
  readonly #link: Link;
  readonly #streams = new Map<number, ServerHttp2Stream>();
  /** Why it was destroyed; 0: for no error. */
  destroyCode: number = NGHTTP2_NO_ERROR;
  readonly type = NGHTTP2_SESSION_SERVER;
  readonly connecting = false;
  readonly encrypted: boolean;
  readonly alpnProtocol: string;
  readonly goawayCode = NGHTTP2_NO_ERROR;
  readonly goawayLastStreamID = 0;
  readonly pendingSettingsAck = false;
  closed = false;
  destroyed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
    this.#link = { writer: connection.lane.writer, token: connection.token, pause: COMMAND_PAUSE, resume: COMMAND_RESUME };
    this.encrypted = connection.server.provider !== undefined;
    this.alpnProtocol = this.encrypted ? connection.secure?.alpnProtocol ?? 'h2' : 'h2c';
    // Node's compatibility API looks here for what it shows as the socket of a request.
    Object.defineProperty(this, kSocket, { get: () => connection.socket, configurable: true });
    sessionsOf(connection.server.server)?.add(this);
  }

  /** Where its streams write; undefined: nothing can be written any more. */
  get link(): Link | undefined {
    return this.#connection.closed || this.#connection.destroying ? undefined : this.#link;
  }

  get server(): unknown {
    return this.#connection.server.server;
  }

  get socket(): unknown {
    return this.destroyed ? undefined : this.#connection.socket;
  }

  get originSet(): string[] | undefined {
    if (!this.encrypted || this.destroyed) return undefined;
    const name = this.#connection.secure?.servername ?? '';
    const { remoteAddress, remotePort } = this.#connection.addresses;
    return [name === '' ? `https://${remoteAddress ?? ''}:${remotePort}` : `https://${name}`];
  }

  get localSettings(): Settings {
    return this.destroyed ? {} : { ...this.#settings };
  }

  get state(): object {
    return {};
  }

  readonly #settings: Settings & { maxHeaderSize: number } = {
    headerTableSize: 4096, enablePush: false, initialWindowSize: 65_535, maxFrameSize: 16_384, maxConcurrentStreams: 100,
    maxHeaderListSize: 65_535, maxHeaderSize: 65_535, enableConnectProtocol: true,
  };

  /** A stream has been opened. */
  adopt(stream: ServerHttp2Stream): void {
    this.#streams.set(stream.id, stream);
  }

  stream(id: number): ServerHttp2Stream | undefined {
    return this.#streams.get(id);
  }

  /** A stream has been destroyed. */
  forget(stream: ServerHttp2Stream): void {
    this.#streams.delete(stream.id);
    setImmediate(() => this.#endIfDone());
  }

  /** No more streams, and the end behind the last one. */
  close(callback?: () => void): void {
    if (this.closed || this.destroyed) return;
    this.closed = true;
    if (typeof callback === 'function') this.once('close', callback);
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.closed && !this.destroyed && this.#streams.size === 0) this.destroy();
  }

  destroy(error: Error | number = NGHTTP2_NO_ERROR, code?: number): void {
    if (this.destroyed) return;
    const reason = typeof error === 'number' ? error === NGHTTP2_NO_ERROR ? undefined : errors.sessionError(error) : error;
    this.destroyCode = typeof error === 'number' ? error : code ?? NGHTTP2_INTERNAL_ERROR;
    this.#end(reason);
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
    this.setTimeout(0);
    sessionsOf(this.#connection.server.server)?.delete(this);
    for (const stream of [...this.#streams.values()]) stream.destroy(reason);
  }

  #tellEnd(reason: Error | undefined): void {
    if (reason !== undefined) this.emit('error', reason);
    this.emit('close');
  }

  setTimeout(milliseconds: number, callback?: () => void): this {
    clearTimeout(this.#timer);
    if (callback !== undefined && milliseconds === 0) this.removeListener('timeout', callback);
    else if (callback !== undefined) this.once('timeout', callback);
    this.#timer = milliseconds > 0 ? setTimeout(() => void this.emit('timeout'), milliseconds).unref() : undefined;
    return this;
  }

  /** Something has been read or sent on it. */
  noteActivity(): void {
    this.#timer?.refresh();
  }

  ref(): void {
    this.#connection.setRef(true);
  }

  unref(): void {
    this.#connection.setRef(false);
  }
}
