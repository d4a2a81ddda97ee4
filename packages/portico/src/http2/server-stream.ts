/**
 * `ServerHttp2Stream`: one request of `node:http2` and its answer, as a duplex stream.
 *
 * States of its end, as in Node: `closed` (no more is sent: by `close`, by the client's reset, or since both sides have
 * ended), then `destroyed` (when what had come has been read). Node's compatibility API (`Http2ServerRequest`,
 * `Http2ServerResponse`) works on it unchanged.
 */

import { constants } from 'node:http2';
import process = require('node:process');
import { Duplex } from 'node:stream';
import { RESPONSE_FLAG_ACK, RESPONSE_FLAG_END } from '../generated/layout';
import { WRITTEN_AT_ONCE_BYTES } from '../lane/raw-writes';
import { byteLength, type WrittenChunk } from '../lane/writer';
import * as errors from './errors';
import { copyOf, headOf, linesOf, type Fields } from './fields';
import { sendFile, sendOpenFile, type FileOptions } from './files';
import type { ServerHttp2Session } from './session';

const { NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR } = constants;
const NO_CONTENT = new Set([204, 205, 304]);

type Done = (error?: Error | null) => void;

/** Options of `respond`. */
export interface RespondOptions {
  endStream?: boolean;
  waitForTrailers?: boolean;
  sendDate?: boolean;
}

interface State {
  readingMore: boolean;
}

/** A stream of a session, opened by the client. */
export class ServerHttp2Stream extends Duplex {
  readonly #id: number;
  #session: ServerHttp2Session | undefined;
  readonly #closing: { code: number } = { code: NGHTTP2_NO_ERROR };
  /** The request has no body. */
  readonly endAfterHeaders: boolean;
  readonly headRequest: boolean;
  headersSent = false;
  aborted = false;
  override closed = false;
  sentHeaders: Fields | undefined = undefined;
  sentInfoHeaders: Fields[] | undefined = undefined;
  sentTrailers: Fields | undefined = undefined;
  readonly pending = false;
  #waitsForTrailers = false;
  #trailersReady = false;
  /** `_final` has run: the program has ended its side. */
  #ended = false;
  /** Our side ends as soon as its trailers are known. */
  #isFinishing = false;
  /** The record that ends our side has been written. */
  #endSent = false;
  /** And has been sent. */
  #endFlushed = false;
  /** The client's side has ended. */
  #peerEnded = false;
  #didRead = false;
  #paused = false;
  /** Records that are to be acknowledged, oldest first: their bytes, and who waits. */
  readonly #acks: { bytes: number; done: Done | null }[] = [];
  #unsentBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(session: ServerHttp2Session, id: number, headers: Fields, isComplete: boolean) {
    super({ allowHalfOpen: true, decodeStrings: false, autoDestroy: false });
    this.#id = id;
    this.#session = session;
    this.endAfterHeaders = isComplete;
    this.headRequest = headers[':method'] === 'HEAD';
    // Nothing is read of itself, as in Node.
    (this as unknown as { _readableState: State })._readableState.readingMore = true;
    if (isComplete) this.receiveEnd();
    // There is no body to come behind the head.
    if (this.headRequest) this.end();
  }

  get id(): number {
    return this.#id;
  }

  get session(): ServerHttp2Session | undefined {
    return this.#session;
  }

  get rstCode(): number {
    return this.#closing.code;
  }

  /** What is written and not known to have been sent. */
  get bufferSize(): number {
    return this.#unsentBytes + this.writableLength;
  }

  get state(): object {
    if (this.destroyed) return {};
    const { NGHTTP2_STREAM_STATE_OPEN, NGHTTP2_STREAM_STATE_HALF_CLOSED_LOCAL, NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE } = constants;
    const state = this.#endSent ? NGHTTP2_STREAM_STATE_HALF_CLOSED_LOCAL : this.#peerEnded ? NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE : NGHTTP2_STREAM_STATE_OPEN;
    return { state, localClose: Number(this.#endSent), remoteClose: Number(this.#peerEnded) };
  }

  /** No stream is pushed. */
  get pushAllowed(): boolean {
    return false;
  }

  pushStream(): never {
    throw errors.http2Error('ERR_HTTP2_PUSH_DISABLED');
  }

  // The answer.

  respond(headers?: unknown, options?: RespondOptions): void {
    this.#checkUnanswered();
    if (options !== undefined && (typeof options !== 'object' || options === null)) throw errors.invalidType('options', 'of type object', options);
    const { endStream, waitForTrailers, sendDate = true } = options ?? {};
    this.noteActivity();
    const head = headOf(headers, sendDate ?? true);
    this.sentHeaders = head.sent;
    this.headersSent = true;
    // Without a body the head is the end, and as in Node there are no trailers behind it.
    const isLast = Boolean(endStream) || NO_CONTENT.has(head.status) || this.headRequest;
    this.#waitsForTrailers = Boolean(waitForTrailers) && !isLast;
    this.#sendHead(head.status, head.lines, isLast);
    if (isLast) this.end();
    // Its side has ended before: the end waited for the head.
    else if (this.#ended) this.#finish();
  }

  #sendHead(status: number, lines: string, isLast: boolean): void {
    const link = this.#link();
    if (link === undefined) return;
    if (isLast) this.#noteEnd();
    link.writer.respond(link.token, this.#id, isLast ? RESPONSE_FLAG_END | RESPONSE_FLAG_ACK : 0, status, 0, '', lines, undefined, 0, undefined, 0);
  }

  additionalHeaders(given: unknown): void {
    if (this.destroyed || this.closed) throw errors.http2Error('ERR_HTTP2_INVALID_STREAM');
    if (this.headersSent) throw errors.http2Error('ERR_HTTP2_HEADERS_AFTER_RESPOND');
    const fields = copyOf(given);
    const status = Number(fields[':status'] ?? constants.HTTP_STATUS_CONTINUE) | 0;
    if (status === constants.HTTP_STATUS_SWITCHING_PROTOCOLS) throw errors.http2Error('ERR_HTTP2_STATUS_101');
    if (status < 100 || status >= 200) throw errors.invalidInfoStatus(fields[':status']);
    const lines = linesOf(fields, (name) => name === ':status');
    (this.sentInfoHeaders ??= []).push(fields);
    this.noteActivity();
    const link = this.#link();
    link?.writer.inform(link.token, this.#id, 0, status, '', lines);
  }

  sendTrailers(given: unknown): void {
    if (this.destroyed || this.closed) throw errors.http2Error('ERR_HTTP2_INVALID_STREAM');
    if (this.sentTrailers !== undefined) throw errors.http2Error('ERR_HTTP2_TRAILERS_ALREADY_SENT');
    if (!this.#trailersReady) throw errors.http2Error('ERR_HTTP2_TRAILERS_NOT_READY');
    if (typeof given !== 'object' || given === null) throw errors.invalidType('headers', 'of type object', given);
    const fields = copyOf(given);
    const lines = linesOf(fields, () => false);
    this.sentTrailers = fields;
    this.noteActivity();
    this.#waitsForTrailers = false;
    this.#sendEnd(lines);
  }

  respondWithFile(path: string, headers?: unknown, options?: FileOptions): void {
    this.#checkUnanswered();
    sendFile(this, path, headers, options);
  }

  respondWithFD(fd: unknown, headers?: unknown, options?: FileOptions): void {
    this.#checkUnanswered();
    sendOpenFile(this, fd, headers, options);
  }

  #checkUnanswered(): void {
    if (this.destroyed || this.closed) throw errors.http2Error('ERR_HTTP2_INVALID_STREAM');
    if (this.headersSent) throw errors.http2Error('ERR_HTTP2_HEADERS_SENT');
  }

  // Writing.

  override _write(chunk: string | Uint8Array, encoding: BufferEncoding, done: Done): void {
    this.#writeAll([{ chunk, encoding }], done);
  }

  override _writev(chunks: WrittenChunk[], done: Done): void {
    this.#writeAll(chunks, done);
  }

  #writeAll(chunks: readonly WrittenChunk[], done: Done): void {
    if (!this.headersSent && !this.destroyed && !this.closed) this.respond();
    const link = this.#link();
    if (link === undefined || this.#endSent) return done();
    this.noteActivity();
    chunks.forEach(({ chunk, encoding }, index) => {
      const length = byteLength(chunk, encoding);
      const isLast = index === chunks.length - 1;
      this.#unsentBytes += length;
      // What surely fits into the socket's buffer counts as written.
      const waits = isLast && this.#unsentBytes > WRITTEN_AT_ONCE_BYTES;
      this.#acks.push({ bytes: length, done: waits ? done : null });
      link.writer.data(link.token, this.#id, RESPONSE_FLAG_ACK, chunk, length, encoding);
      // Later than `write` returns, as in Node: until then the bytes count as buffered.
      if (isLast && !waits) process.nextTick(done);
    });
  }

  override _final(done: Done): void {
    this.#ended = true;
    // Without a head the end waits for it.
    if (this.headersSent) this.#finish();
    done();
  }

  /** Our side ends: with trailers, where the program has asked to be told. */
  #finish(): void {
    if (this.#endSent || this.#isFinishing) return;
    this.#isFinishing = true;
    if (!this.#waitsForTrailers) return this.#sendEnd('');
    process.nextTick(() => {
      this.#trailersReady = true;
      if (!this.destroyed && !this.closed && !this.emit('wantTrailers')) this.sendTrailers({});
    });
  }

  #sendEnd(trailers: string): void {
    const link = this.#link();
    if (link === undefined || this.#endSent) return;
    this.#noteEnd();
    link.writer.end(link.token, this.#id, RESPONSE_FLAG_ACK, trailers);
  }

  #noteEnd(): void {
    this.#endSent = true;
    this.#acks.push({ bytes: 0, done: () => { this.#endFlushed = true; } });
  }

  /** Event `FLUSHED`: so many of its records have been handed to the kernel. */
  flushed(count: number): void {
    this.noteActivity();
    for (const { bytes, done } of this.#acks.splice(0, count)) {
      this.#unsentBytes -= bytes;
      done?.();
    }
    if (!this.#endFlushed) return;
    if (this.#peerEnded) this.receiveClose(NGHTTP2_NO_ERROR, false);
    // The answer is out, and nobody reads what the client still sends.
    else if (!this.#didRead && this.readableFlowing === null) setImmediate(() => this.close());
  }

  // Reading.

  override _read(): void {
    if (this.destroyed) {
      this.push(null);
      return;
    }
    if (!this.#didRead) {
      (this as unknown as { _readableState: State })._readableState.readingMore = false;
      this.#didRead = true;
    }
    const link = this.#link();
    if (!this.#paused || link === undefined) return;
    this.#paused = false;
    link.writer.aboutRequest(link.resume, link.token, this.#id);
  }

  #pause(): void {
    const link = this.#link();
    if (this.#paused || this.#peerEnded || link === undefined) return;
    this.#paused = true;
    link.writer.aboutRequest(link.pause, link.token, this.#id);
  }

  /** Event `BODY`. */
  receive(chunk: Buffer): void {
    this.noteActivity();
    if (!this.destroyed && !this.push(chunk)) this.#pause();
  }

  /** The client's side has ended. */
  receiveEnd(): void {
    if (this.#peerEnded) return;
    this.#peerEnded = true;
    if (!this.destroyed) this.push(null);
    if (this.#endFlushed) setImmediate(() => this.receiveClose(NGHTTP2_NO_ERROR, false));
  }

  // The end.

  /** Both sides have ended, or the client has reset the stream. */
  receiveClose(code: number, isReset: boolean): void {
    if (this.destroyed) return;
    if (!this.closed) this.#markClosed(code);
    if (!this.readable || code !== NGHTTP2_NO_ERROR) {
      this.destroy();
      return;
    }
    this.on('end', () => { if (isReset || this.writableFinished) this.destroy(); });
    this.push(null);
    if (!this.#didRead && this.readableFlowing === null) this.resume();
    else this.read(0);
  }

  close(code: number = NGHTTP2_NO_ERROR, callback?: () => void): void {
    if (typeof code !== 'number') throw errors.invalidType('code', 'of type number', code);
    if (callback !== undefined && typeof callback !== 'function') throw errors.invalidType('callback', 'of type function', callback);
    if (this.closed) return;
    if (callback !== undefined) this.once('close', callback);
    const wasEnding = this.writableEnded;
    this.#markClosed(code);
    if (wasEnding && !this.writableFinished && code === NGHTTP2_NO_ERROR) this.once('finish', () => this.#reset(code));
    else this.#reset(code);
  }

  #markClosed(code: number): void {
    this.closed = true;
    this.#closing.code = code;
    this.setTimeout(0);
    this.removeAllListeners('timeout');
    if (this.writableEnded) return;
    if (!this.aborted) {
      this.aborted = true;
      this.emit('aborted');
    }
    this.end();
  }

  /** Tells the client, as far as it does not know, and lets the stream go. */
  #reset(code: number): void {
    const link = this.#link();
    if (link !== undefined) {
      // A whole answer goes out: the rest of the request is dropped behind it.
      if (this.#endSent && code === NGHTTP2_NO_ERROR) link.writer.discard(link.token, this.#id);
      else link.writer.reset(link.token, this.#id, code);
    }
    setImmediate(() => this.receiveClose(code, false));
  }

  override _destroy(error: Error | null, done: Done): void {
    const session = this.#session as ServerHttp2Session;
    const sessionCode = session.destroyCode;
    let code = this.closed ? this.rstCode : sessionCode;
    if (error != null) code = sessionCode || (error.name === 'AbortError' ? NGHTTP2_CANCEL : NGHTTP2_INTERNAL_ERROR);
    if (!this.closed) {
      this.#markClosed(code);
      const link = this.#link();
      if (link !== undefined && !(this.#endSent && this.#peerEnded)) link.writer.reset(link.token, this.#id, code);
    }
    this.push(null);
    clearTimeout(this.#timer);
    this.#session = undefined;
    for (const { done: waiting } of this.#acks.splice(0)) if (waiting !== null) process.nextTick(waiting, error);
    session.forget(this);
    const isError = error == null && code !== NGHTTP2_NO_ERROR && code !== NGHTTP2_CANCEL;
    done(isError ? errors.streamError(nameOf(code)) : error);
  }

  setTimeout(milliseconds: number, callback?: () => void): this {
    if (this.destroyed) return this;
    clearTimeout(this.#timer);
    if (callback !== undefined && milliseconds === 0) this.removeListener('timeout', callback);
    else if (callback !== undefined) this.once('timeout', callback);
    this.#timer = milliseconds > 0 ? setTimeout(() => void this.emit('timeout'), milliseconds).unref() : undefined;
    return this;
  }

  /** Something has been read or sent. */
  noteActivity(): void {
    this.#timer?.refresh();
    this.#session?.noteActivity();
  }

  #link(): ServerHttp2Session['link'] {
    return this.#session?.link;
  }
}

/** Name of an error code, or the number. */
function nameOf(code: number): string {
  const found = Object.entries(constants).find(([name, value]) => value === code && /^NGHTTP2_[A-Z_]+$/.test(name) && CODES.has(name));
  return found?.[0] ?? String(code);
}

const CODES = new Set(['NGHTTP2_NO_ERROR', 'NGHTTP2_PROTOCOL_ERROR', 'NGHTTP2_INTERNAL_ERROR', 'NGHTTP2_FLOW_CONTROL_ERROR', 'NGHTTP2_SETTINGS_TIMEOUT',
  'NGHTTP2_STREAM_CLOSED', 'NGHTTP2_FRAME_SIZE_ERROR', 'NGHTTP2_REFUSED_STREAM', 'NGHTTP2_CANCEL', 'NGHTTP2_COMPRESSION_ERROR', 'NGHTTP2_CONNECT_ERROR',
  'NGHTTP2_ENHANCE_YOUR_CALM', 'NGHTTP2_INADEQUATE_SECURITY', 'NGHTTP2_HTTP_1_1_REQUIRED']);
