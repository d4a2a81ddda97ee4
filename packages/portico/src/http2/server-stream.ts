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
import { format, inspect } from 'node:util';
import { RESPONSE_FLAG_ACK, RESPONSE_FLAG_END } from '../generated/layout';
import { WRITTEN_AT_ONCE_BYTES } from '../lane/raw-writes';
import { byteLength, type WrittenChunk } from '../lane/writer';
import { checkCode, checkObject } from './arguments';
import { nameOf } from './error-names';
import * as errors from './errors';
import { priorityMethod } from './priority';
import { copyOf, headOf, linesOf, type Fields } from './fields';
import { sendFile, sendOpenFile, type FileOptions } from './files';
import { channels } from './channels';
import { completePush } from './pushes';
import type { ServerHttp2Session } from './session';
import { defineTimeout, refreshTimeout, stopTimeout } from './timeouts';

const { NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR } = constants;
const NO_CONTENT = new Set([204, 205, 304]);
/** Type of a frame. */
const HEADERS = 1;
/** As nghttp2 has it. */
const MAX_FIELDS_BYTES = 65_536;

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
  /** The connection's bytes at the timer's last end. */
  #bytesAtTimeout = -1;
  /** The body is a file's: what the program ends is the stream, not the body. */
  #isFile = false;
  /** What it was opened for. */
  readonly #request: Fields;
  declare setTimeout: (milliseconds: number, callback?: () => void) => this;
  /** `setTimeout`'s value. */
  timeout: number | undefined;

  constructor(session: ServerHttp2Session, id: number, headers: Fields, isComplete: boolean) {
    super({ allowHalfOpen: true, decodeStrings: false, autoDestroy: false });
    this.#id = id;
    this.#session = session;
    this.#request = headers;
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
    const { NGHTTP2_STREAM_STATE_OPEN, NGHTTP2_STREAM_STATE_HALF_CLOSED_LOCAL, NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE, NGHTTP2_DEFAULT_WEIGHT } = constants;
    const state = this.#endSent ? NGHTTP2_STREAM_STATE_HALF_CLOSED_LOCAL : this.#peerEnded ? NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE : NGHTTP2_STREAM_STATE_OPEN;
    return {
      state, weight: NGHTTP2_DEFAULT_WEIGHT, sumDependencyWeight: 0, localClose: Number(this.#endSent), remoteClose: Number(this.#peerEnded),
      localWindowSize: this.#session?.localSettings.initialWindowSize ?? 0,
    };
  }

  // Server push.

  get pushAllowed(): boolean {
    const session = this.#session;
    return session !== undefined && !this.destroyed && !this.closed && !session.closed && !session.destroyed && session.remoteSettings.enablePush === true;
  }

  pushStream(given: unknown, ...rest: unknown[]): void {
    if (!this.pushAllowed) throw errors.http2Error('ERR_HTTP2_PUSH_DISABLED');
    if (this.#id % 2 === 0) throw errors.http2Error('ERR_HTTP2_NESTED_PUSH');
    this.noteActivity();
    const [options, callback] = typeof rest[0] === 'function' ? [undefined, rest[0]] : rest;
    if (typeof callback !== 'function') throw errors.invalidType('callback', 'of type function', callback);
    if (options !== undefined) checkObject('options', options);
    if (given !== undefined) checkObject('headers', given);
    const session = this.#session as ServerHttp2Session;
    const fields = completePush(given, this.#request);
    const lines = linesOf(fields, (name) => REQUEST_PSEUDO.has(name), session.isStrict);
    const endStream = Boolean((options as { endStream?: boolean } | undefined)?.endStream);
    const { link } = session;
    if (link === undefined) return;
    session.pushes.begin(link, this.#id, fields, lines, (id) => pushed(session, id, fields, endStream, callback as PushDone));
  }

  // The answer.

  respond(headers?: unknown, options?: RespondOptions): void {
    this.#checkUnanswered();
    if (options !== undefined) checkObject('options', options);
    const { endStream, waitForTrailers, sendDate = true } = options ?? {};
    this.noteActivity();
    const head = headOf(headers, sendDate ?? true, this.#isStrict);
    this.sentHeaders = head.sent;
    this.headersSent = true;
    // Without a body the head is the end, and as in Node there are no trailers behind it.
    const isLast = Boolean(endStream) || NO_CONTENT.has(head.status) || this.headRequest;
    this.#waitsForTrailers = Boolean(waitForTrailers) && !isLast;
    this.#sendHead(head.status, head.lines, isLast);
    channels?.finish.publish({ stream: this, headers: head.sent, flags: 0 });
    if (isLast) this.end();
    // Its side has ended before: the end waited for the head.
    else if (this.#ended && !this.#isFile) this.#finish();
  }

  #sendHead(status: number, lines: string, isLast: boolean): void {
    const link = this.#link();
    if (link === undefined || this.#isTooLarge(lines)) return;
    if (isLast) this.#noteEnd();
    link.writer.respond(link.token, this.#id, isLast ? RESPONSE_FLAG_END | RESPONSE_FLAG_ACK : 0, status, 0, '', lines, undefined, 0, undefined, 0);
  }

  additionalHeaders(given: unknown): void {
    if (this.destroyed || this.closed) throw errors.http2Error('ERR_HTTP2_INVALID_STREAM');
    if (this.headersSent) throw errors.http2Error('ERR_HTTP2_HEADERS_AFTER_RESPOND');
    const fields = copyOf(given);
    if (fields[':status'] !== undefined && fields[':status'] !== null) fields[':status'] = Number(fields[':status']) | 0;
    const status = Number(fields[':status'] ?? constants.HTTP_STATUS_CONTINUE) | 0;
    if (status === constants.HTTP_STATUS_SWITCHING_PROTOCOLS) throw errors.http2Error('ERR_HTTP2_STATUS_101');
    if (status < 100 || status >= 200) throw errors.invalidInfoStatus(fields[':status']);
    const lines = linesOf(fields, (name) => name === ':status', this.#isStrict);
    (this.sentInfoHeaders ??= []).push(fields);
    this.noteActivity();
    const link = this.#link();
    if (!this.#isTooLarge(lines)) link?.writer.inform(link.token, this.#id, 0, status, '', lines);
  }

  /** Fields that Node's sessions would not send: the stream and the session end, as they do there. */
  #isTooLarge(lines: string): boolean {
    const session = this.#session;
    if (session === undefined || lines.length <= (session.options.maxSendHeaderBlockLength ?? MAX_FIELDS_BYTES)) return false;
    const { NGHTTP2_FRAME_SIZE_ERROR } = constants;
    this.emit('frameError', HEADERS, NGHTTP2_FRAME_SIZE_ERROR, this.#id);
    setImmediate(() => {
      this.close(NGHTTP2_FRAME_SIZE_ERROR);
      session.close();
    });
    return true;
  }

  sendTrailers(given: unknown): void {
    if (this.destroyed || this.closed) throw errors.http2Error('ERR_HTTP2_INVALID_STREAM');
    if (this.sentTrailers !== undefined) throw errors.http2Error('ERR_HTTP2_TRAILERS_ALREADY_SENT');
    if (!this.#trailersReady) throw errors.http2Error('ERR_HTTP2_TRAILERS_NOT_READY');
    if (given !== undefined) checkObject('headers', given);
    const fields = copyOf(given);
    const lines = linesOf(fields, () => false, this.#isStrict);
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

  get #isStrict(): boolean {
    return this.#session?.isStrict ?? true;
  }

  /** The head of an answer whose body is a file's: nothing is written to the stream itself. */
  respondForFile(headers: Fields, options: RespondOptions): void {
    this.#isFile = true;
    this.respond(headers, options);
    this.end();
  }

  /** Bytes of the file. */
  sendFileBytes(chunk: Buffer, done: Done): void {
    this.#writeAll([{ chunk, encoding: 'latin1' }], done);
  }

  /** Its end. */
  endFile(): void {
    this.#finish();
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
    if (this.headersSent && !this.#isFile) this.#finish();
    done();
  }

  /** Our side ends: with trailers, where the program has asked to be told. */
  #finish(): void {
    // What is reset has no end.
    if (this.#endSent || this.#isFinishing || this.rstCode !== NGHTTP2_NO_ERROR) return;
    this.#isFinishing = true;
    if (!this.#waitsForTrailers) return this.#sendEnd('');
    process.nextTick(() => {
      this.#trailersReady = true;
      if (!this.destroyed && !this.closed && !this.emit('wantTrailers')) this.sendTrailers({});
    });
  }

  #sendEnd(trailers: string): void {
    const link = this.#link();
    if (link === undefined || this.#endSent || this.#isTooLarge(trailers)) return;
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
    checkCode(code);
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
    stopTimeout(this);
    this.removeAllListeners('timeout');
    if (!this.writableEnded) {
      if (!this.aborted) {
        this.aborted = true;
        this.emit('aborted');
      }
      this.end();
    }
    channels?.close.publish({ stream: this });
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
    const sessionCode = session.goawayCode || session.destroyCode;
    let code = this.closed ? this.rstCode : sessionCode;
    if (error != null) code = sessionCode || (error.name === 'AbortError' ? NGHTTP2_CANCEL : NGHTTP2_INTERNAL_ERROR);
    if (!this.closed) {
      this.#markClosed(code);
      // A session that is destroyed says so for all of them.
      if (!session.destroyed && !(this.#endSent && this.#peerEnded)) this.#resetBehindData(session, code);
    }
    this.push(null);
    stopTimeout(this);
    this.#session = undefined;
    for (const { done: waiting } of this.#acks.splice(0)) if (waiting !== null) process.nextTick(waiting, error);
    session.forget(this);
    const isError = error == null && code !== NGHTTP2_NO_ERROR && code !== NGHTTP2_CANCEL;
    const failure = isError ? errors.streamError(nameOf(code)) : error;
    if (failure != null) channels?.error.publish({ stream: this, error: failure });
    done(failure);
  }

  /** What was written before goes out first, unless the client has no use for it. */
  #resetBehindData(session: ServerHttp2Session, code: number): void {
    const { link } = session;
    if (link === undefined) return;
    // A whole answer goes out.
    if (this.#endSent && code === NGHTTP2_NO_ERROR) link.writer.discard(link.token, this.#id);
    else if (this.#unsentBytes > 0 && code !== NGHTTP2_CANCEL) session.resetLater(this.#id, this.#acks.length, code);
    else link.writer.reset(link.token, this.#id, code);
  }

  /** `setTimeout`'s timer has run out. */
  _onTimeout(): void {
    // A whole answer that fits into the socket's buffer is as good as sent.
    if (this.destroyed || this.#endSent && this.#unsentBytes <= WRITTEN_AT_ONCE_BYTES) return;
    const before = this.#bytesAtTimeout;
    if (this.bufferSize > 0 && (this.#bytesAtTimeout = this.#session?.bytesSent ?? before) !== before) this.noteActivity();
    else this.emit('timeout');
  }

  /** Something has been read or sent. */
  noteActivity(): void {
    refreshTimeout(this);
    this.#session?.noteActivity();
  }

  #link(): ServerHttp2Session['link'] {
    return this.#session?.link;
  }

  [inspect.custom](depth: number): unknown {
    if (depth < 0) return this;
    const { id, closed, destroyed, state } = this;
    const { _readableState: readableState, _writableState: writableState } = this as unknown as Record<string, unknown>;
    return `Http2Stream ${format({ id, closed, destroyed, state, readableState, writableState })}`;
  }
}

defineTimeout(ServerHttp2Stream.prototype);
Object.defineProperty(ServerHttp2Stream.prototype, 'priority', { value: priorityMethod(), writable: true, configurable: true });

type PushDone = (error: Error | null, stream?: ServerHttp2Stream, headers?: Fields, flags?: number) => void;

/** The engine has said what became of a promise. */
function pushed(session: ServerHttp2Session, id: number, fields: Fields, endStream: boolean, callback: PushDone): void {
  if (id === 0) return callback(errors.http2Error('ERR_HTTP2_INVALID_STREAM'));
  const stream = new ServerHttp2Stream(session, id, fields, true);
  stream.sentHeaders = fields;
  session.adopt(stream);
  if (endStream && !stream.headRequest) stream.end();
  channels?.created.publish({ stream, headers: fields });
  channels?.start.publish({ stream, headers: fields });
  callback(null, stream, fields, 0);
}

const REQUEST_PSEUDO = new Set([':method', ':scheme', ':authority', ':path']);

