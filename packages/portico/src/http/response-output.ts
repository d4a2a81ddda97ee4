/**
 * Output of a response: `writeHead`, `write`, `end` and their kin, as records to the engine.
 *
 * What is written in one tick leaves together: `write` keeps its chunks until the next tick, `cork` longer, `end` hands
 * over what there is. An acknowledgement is asked for only where somebody can notice it.
 */

import * as layout from '../generated/layout';
import { STATUS_CODES } from 'node:http';
import type { Head } from '../lane/templates';
import type { Chunk } from '../lane/writer';
import { alreadyFinished, bodyNotAllowed, contentLengthMismatch, headersSent, invalidCharacter, invalidStatusCode,
  nodeError, socketAssigned, streamDestroyed, unknownEncoding, writeAfterEnd } from './errors';
import type { Callback, Exchange, PendingWrite } from './exchange';
import { kExchange } from './exchange';
import { emitClose, finish, finishIsObserved, leave } from './lifecycle';
import { SET_BEFORE, storeHead, type HeaderArgument } from './response-head';
import { hasRoom } from './response-state';
import type { Response } from './server-response';
import { finishesEarly, joinsChunks, joinsCorkedChunks, kErrored, stockResponse } from './stock';

const { RESPONSE_FLAG_END, RESPONSE_FLAG_ACK, RESPONSE_FLAG_CLOSE } = layout;
/** Chunks up to this total are joined before they are handed over. */
const JOIN_BYTES = 16 * 1024;
/** What surely fits into a socket's buffer. */
export const WRITTEN_AT_ONCE_BYTES = 16 * 1024;
// eslint-disable-next-line no-control-regex
const INVALID_REASON = /[^\t\x20-\x7e\x80-\xff]/;

type Stock = Record<string, (this: unknown, ...args: unknown[]) => unknown>;
const stock = stockResponse as Stock;

/** Defines the output methods. */
export function defineOutput(prototype: object): void {
  const methods: Record<string, unknown> = {
    writeHead, write, end, flushHeaders, cork, uncork, destroy, _send: send, _writeRaw: writeRaw, _flush: flushNothing,
    assignSocket, detachSocket, setTimeout, _finish: prefinish,
  };
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

function writeHead(this: Response, statusCode: number, reason?: unknown, headers?: HeaderArgument): Response {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.writeHead.call(this, statusCode, reason, headers) as Response;
  if (exchange.head !== null) throw headersSent('write');
  const status = statusCode | 0;
  if (status < 100 || status > 999) throw invalidStatusCode(statusCode);
  if (typeof reason === 'string') {
    this.statusMessage = reason;
  } else {
    this.statusMessage ||= STATUS_CODES[status] ?? 'unknown';
    headers ??= reason as HeaderArgument;
  }
  if (this.statusCode !== status) this.statusCode = status;
  if (Array.isArray(headers) && !Array.isArray(headers[0]) && headers.length % 2 !== 0) throw oddArray(headers);
  if (exchange.fields !== null || exchange.hasMap) {
    headers = headers === undefined || headers === null ? SET_BEFORE : mergeHeaders(this, headers);
  }
  const message = this.statusMessage as string;
  if (message !== 'OK' && INVALID_REASON.test(message)) throw invalidCharacter('statusMessage');
  if (status === 204 || status === 304 || status < 200) this._hasBody = false;
  // A client that still waits to send its body may do so after this answer: what follows can't be told apart.
  if (this._expect_continue && !this._sent100) this.shouldKeepAlive = false;
  storeHead(this, exchange, status, message, headers);
  return this;
}

function oddArray(headers: unknown[]): Error {
  return nodeError('ERR_INVALID_ARG_VALUE',
    `The argument 'headers' is invalid. Received ${(require('node:util') as typeof import('node:util')).inspect(headers)}`, TypeError);
}

/** Fields given to `writeHead` take the place of those set before. */
function mergeHeaders(response: Response, headers: HeaderArgument): HeaderArgument {
  if (Array.isArray(headers)) {
    const list = Array.isArray(headers[0]) ? (headers as unknown[][]).flat() : headers;
    for (let at = 0; at < list.length; at += 2) response.removeHeader(list[at] as string);
    for (let at = 0; at < list.length; at += 2) {
      if (list[at]) response.appendHeader(list[at] as string, list[at + 1]);
    }
  } else if (headers !== undefined && headers !== null) {
    for (const name of Object.keys(headers)) {
      if (name) response.setHeader(name, headers[name]);
    }
  }
  return SET_BEFORE;
}

function byteLength(chunk: Chunk, encoding: BufferEncoding | undefined): number {
  return typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength;
}

function isBytes(chunk: unknown): chunk is Uint8Array {
  return chunk instanceof Uint8Array || Object.prototype.toString.call(chunk) === '[object Uint8Array]';
}

function end(this: Response, chunk?: unknown, encoding?: unknown, callback?: unknown): Response {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.end.call(this, chunk, encoding, callback) as Response;
  if (typeof chunk === 'function') {
    callback = chunk;
    chunk = encoding = undefined;
  } else if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  if (this.finished) return endAgain(this, exchange, chunk, callback);
  const body = chunk ? checkedChunk(chunk) : undefined;
  const length = body === undefined ? 0 : byteLength(body, encoding as BufferEncoding);
  if (this.strictContentLength) checkTotal(this, exchange, length, body !== undefined);
  if (exchange.head === null && !this.destroyed) {
    this._contentLength = length;
    this._implicitHeader();
  }
  if (typeof callback === 'function') addEndCallback(this, exchange, callback as Callback);
  if (this.destroyed) return endDestroyed(this, exchange);
  const allowed = body !== undefined && mayHaveBody(this);
  if (allowed && this.chunkedEncoding) checkEncoding(body, encoding);
  this.finished = true;
  exchange.corked = 0;
  finishOutput(this, exchange, allowed ? body : undefined, allowed ? length : 0, encoding as BufferEncoding | undefined);
  return this;
}

/** Before Node 26 the callback is a listener of 'finish' like others. */
function addEndCallback(response: Response, exchange: Exchange, callback: Callback): void {
  if (finishesEarly) response.once('finish', callback);
  else if (exchange.ended && !exchange.acknowledged) process.nextTick(callback, null);
  else (exchange.endCallbacks ??= []).push(callback);
}

/** `end` after `end`. */
function endAgain(response: Response, exchange: Exchange, chunk: unknown, callback: unknown): Response {
  if (chunk) {
    reportError(response, writeAfterEnd(), callback);
  } else if (typeof callback === 'function') {
    if (response.writableFinished) (callback as Callback)(alreadyFinished('end'));
    else addEndCallback(response, exchange, callback as Callback);
  }
  return response;
}

/** `end` on a response whose connection has gone: nothing is sent, and nothing is told. */
function endDestroyed(response: Response, exchange: Exchange): Response {
  response.finished = true;
  exchange.ended = true;
  // Nothing will be told of the end, and nothing is to be made up for late listeners.
  exchange.acknowledged = true;
  if (exchange.isCurrent || exchange.connection.closed) response._finish();
  return response;
}

function checkedChunk(chunk: unknown): Chunk {
  if (typeof chunk === 'string' || isBytes(chunk)) return chunk;
  return rejectChunk(chunk);
}

/** Node's own words for a chunk of the wrong type. */
function rejectChunk(chunk: unknown): never {
  stock.write.call({ finished: false }, chunk);
  throw new TypeError('Invalid chunk');
}

function checkEncoding(chunk: Chunk, encoding: unknown): void {
  if (typeof chunk === 'string' && encoding && !Buffer.isEncoding(encoding as string)) throw unknownEncoding(encoding as string);
}

/** False: this kind of response has no body, and what is written is dropped. */
function mayHaveBody(response: Response): boolean {
  if (response._hasBody) return true;
  if (response.exchange.connection.server.server.rejectNonStandardBodyWrites === true) throw bodyNotAllowed();
  return false;
}

function isStrict(response: Response): boolean {
  return response._contentLength != null && response._hasBody && !response._removedContLen && !response.chunkedEncoding
    && !response.hasHeader('transfer-encoding');
}

/** `strictContentLength`: what is written must be what was announced. */
function checkTotal(response: Response, exchange: Exchange, length: number, final: boolean): void {
  const total = exchange.writtenBytes + length;
  if (isStrict(response) && total !== response._contentLength) throw contentLengthMismatch(total, response._contentLength as number);
  if (final) exchange.writtenBytes = total;
}

/** The last records of a response. */
function finishOutput(response: Response, exchange: Exchange, chunk: Chunk | undefined, length: number,
  encoding: BufferEncoding | undefined): void {
  const { connection } = exchange;
  const noticed = isNoticed(response, exchange);
  const trailer = response._trailer !== '' && response.chunkedEncoding && response._hasBody ? response._trailer : '';
  const early = noticed && exchange.isCurrent && exchange.unsentBytes + exchange.pendingBytes + length <= WRITTEN_AT_ONCE_BYTES;
  let flags = noticed && !early ? RESPONSE_FLAG_END | RESPONSE_FLAG_ACK : RESPONSE_FLAG_END;
  if (response._last) {
    flags |= RESPONSE_FLAG_CLOSE;
    connection.ending = true;
  }
  exchange.acknowledged = noticed;
  exchange.ended = true;
  exchange.endTurn = connection.lane.turn;
  if (exchange.pending === null && trailer === '' && !exchange.headSent) {
    sendHead(exchange, flags, chunk, length, encoding);
  } else {
    if (chunk !== undefined) addPending(exchange, chunk, length, encoding, undefined);
    length = exchange.pendingBytes;
    const callbacks = sendPending(exchange, flags, trailer);
    if (callbacks !== null && early) process.nextTick(callAll, callbacks);
    else if (callbacks !== null) exchange.endCallbacks = callbacks.concat(exchange.endCallbacks ?? []);
  }
  if (!noticed) {
    exchange.leftEarly = exchange.isCurrent;
    leave(exchange);
    return;
  }
  if (early) {
    process.nextTick(finishEarly, exchange);
  } else {
    exchange.unsentBytes += length;
    (exchange.acks ??= []).push({ bytes: length, callbacks: null, end: true });
  }
  if (response._events !== undefined && exchange.isCurrent) response._finish();
}

/**
 * What surely fits into the socket's buffer counts as sent, as it does in Node, which writes it at once: 'finish' comes
 * in the next tick, and the engine need not tell when it has really sent it.
 */
function finishEarly(exchange: Exchange): void {
  if (!exchange.finished) finish(exchange);
}

/** Whether anybody could tell when the response has been sent. If not, the engine need not tell us. */
function isNoticed(response: Response, exchange: Exchange): boolean {
  return response._events !== undefined || exchange.endCallbacks !== null || exchange.touched
    || (exchange.flags & layout.REQUEST_FLAG_COMPLETE) === 0 || exchange.pending !== null
    || exchange.acks !== null && exchange.acks.length > 0 || response._last && exchange.connection.hasSocket || finishIsObserved();
}

/** The head, with the whole of the body, its beginning, or nothing of it. */
function sendHead(exchange: Exchange, flags: number, chunk: Chunk | undefined, length: number,
  encoding: BufferEncoding | undefined): void {
  const { connection, sequence } = exchange;
  const head = exchange.head as Head;
  exchange.headSent = true;
  connection.lane.writer.respond(connection.token, sequence, exchange.headFlags | flags, head.status, head.template, head.reason,
    head.lines, chunk, length, encoding, exchange.contentLength);
}

function addPending(exchange: Exchange, chunk: Chunk, length: number, encoding: BufferEncoding | undefined,
  callback: Callback | undefined): void {
  (exchange.pending ??= []).push({ chunk, length, encoding, callback });
  exchange.pendingBytes += length;
}

/** Hands over what was written; the last record carries `flags`. Returns the callbacks of what was handed over. */
function sendPending(exchange: Exchange, flags: number, trailer: string): Callback[] | null {
  const { connection: { token, lane: { writer } }, sequence } = exchange;
  const joins = joinsChunks || !exchange.response.chunkedEncoding || joinsCorkedChunks && exchange.wasCorked;
  exchange.wasCorked = false;
  const chunks = joinSmall(exchange.pending ?? [], joins ? exchange.pendingBytes : Infinity);
  const callbacks = exchange.pending?.flatMap(({ callback }) => callback ?? []) ?? [];
  exchange.pending = null;
  exchange.pendingBytes = 0;
  const isEnd = (flags & RESPONSE_FLAG_END) !== 0;
  const endsApart = isEnd && (trailer !== '' || chunks.length === 0 && exchange.headSent);
  chunks.forEach(({ chunk, length, encoding }, index) => {
    const recordFlags = index === chunks.length - 1 && !endsApart ? flags : 0;
    if (!exchange.headSent) sendHead(exchange, recordFlags, chunk, length, encoding);
    else writer.data(token, sequence, recordFlags, chunk, length, encoding);
  });
  if (!exchange.headSent) sendHead(exchange, endsApart ? 0 : flags, undefined, 0, undefined);
  if (endsApart) writer.end(token, sequence, flags & ~RESPONSE_FLAG_END, trailer);
  return callbacks.length === 0 ? null : callbacks;
}

/** Several small chunks as one: what is written in one tick is one chunk on the wire, as in newer versions of Node. */
function joinSmall(chunks: PendingWrite[], bytes: number): PendingWrite[] {
  if (chunks.length < 2 || bytes > JOIN_BYTES) return chunks.filter(({ length }) => length > 0);
  const joined = Buffer.concat(chunks.map(({ chunk, encoding }) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)));
  return joined.byteLength === 0 ? [] : [{ chunk: joined, length: joined.byteLength, encoding: undefined, callback: undefined }];
}

function write(this: Response, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.write.call(this, chunk, encoding, callback) as boolean;
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  if (typeof chunk !== 'string' && !isBytes(chunk)) rejectChunk(chunk);
  if (this.finished || this.destroyed) return refuseWrite(this, callback);
  const length = byteLength(chunk, encoding as BufferEncoding);
  if (this.strictContentLength) checkPart(this, exchange, length);
  if (exchange.head === null) this._implicitHeader();
  if (!mayHaveBody(this)) {
    process.nextTick(typeof callback === 'function' ? callback as Callback : ignore);
    return true;
  }
  if (this.chunkedEncoding) checkEncoding(chunk, encoding);
  const { connection } = exchange;
  if (connection.closed || connection.destroying) return false;
  addPending(exchange, chunk, length, (encoding ?? undefined) as BufferEncoding | undefined,
    typeof callback === 'function' ? callback as Callback : undefined);
  if (!exchange.isCurrent && exchange.corked === 0) {
    // Without its turn a response has no socket to be corked with: each write is a chunk, as in Node.
    flushPending(exchange);
  } else if (!exchange.flushScheduled && exchange.corked === 0) {
    exchange.flushScheduled = true;
    process.nextTick(flushScheduled, exchange);
  }
  const room = hasRoom(exchange);
  if (!room) exchange.needDrain = true;
  return room;
}

function ignore(): void { /* Nobody asked to be told. */ }

function refuseWrite(response: Response, callback: unknown): boolean {
  const error = response.finished ? writeAfterEnd() : streamDestroyed('write');
  if (!response.destroyed) reportError(response, error, callback);
  else if (typeof callback === 'function') process.nextTick(callback as Callback, error);
  return false;
}

/** To the callback and, if the response still lives by then, as 'error'. */
function reportError(response: Response, error: Error, callback: unknown): void {
  if (response.destroyed) return;
  process.nextTick(() => {
    if (typeof callback === 'function') (callback as Callback)(error);
    if (!response.destroyed) response.emit('error', error);
  });
}

/** `strictContentLength`: not more than was announced. */
function checkPart(response: Response, exchange: Exchange, length: number): void {
  const total = exchange.writtenBytes + length;
  if (isStrict(response) && total > (response._contentLength as number)) {
    throw contentLengthMismatch(total, response._contentLength as number);
  }
  exchange.writtenBytes = total;
}

function flushScheduled(exchange: Exchange): void {
  exchange.flushScheduled = false;
  if (exchange.corked === 0) flushPending(exchange);
}

/** Hands over what was written so far. */
export function flushPending(exchange: Exchange): void {
  if (exchange.pending === null || exchange.ended) return;
  const { pending, pendingBytes, connection } = exchange;
  if (connection.closed || connection.destroying) {
    exchange.pending = null;
    exchange.pendingBytes = 0;
    const error = streamDestroyed('write');
    for (const { callback } of pending) if (callback !== undefined) process.nextTick(callback, error);
    return;
  }
  let callbacks = sendPending(exchange, RESPONSE_FLAG_ACK, '');
  exchange.unsentBytes += pendingBytes;
  if (callbacks !== null && exchange.unsentBytes <= WRITTEN_AT_ONCE_BYTES && exchange.isCurrent) {
    process.nextTick(callAll, callbacks);
    callbacks = null;
  }
  (exchange.acks ??= []).push({ bytes: pendingBytes, callbacks, end: false });
}

function callAll(callbacks: Callback[]): void {
  for (const callback of callbacks) callback(null);
}

function cork(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) stock.cork.call(this);
  else {
    exchange.corked++;
    exchange.wasCorked = true;
  }
}

function uncork(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) stock.uncork.call(this);
  else if (exchange.corked > 0 && --exchange.corked === 0) flushPending(exchange);
}

function flushHeaders(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) {
    stock.flushHeaders.call(this);
    return;
  }
  if (exchange.head === null) this._implicitHeader();
  if (exchange.headSent || exchange.connection.closed || exchange.connection.destroying) return;
  if (exchange.pending !== null) flushPending(exchange);
  else sendHead(exchange, 0, undefined, 0, undefined);
}

/** Interim responses: Node's `writeContinue` and its like come here with their bytes. */
function writeRaw(this: Response, data: unknown, encoding?: unknown, callback?: unknown): boolean {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock._writeRaw.call(this, data, encoding, callback) as boolean;
  if (typeof encoding === 'function') callback = encoding;
  const { connection, sequence } = exchange;
  if (connection.closed || connection.destroying) return false;
  connection.lane.writer.inform(connection.token, sequence, 0, String(data));
  if (typeof callback === 'function') process.nextTick(callback as Callback, null);
  return true;
}

/** Programs know `_send('')` as an old way to flush the head. */
function send(this: Response, data: unknown, encoding?: unknown, callback?: unknown): unknown {
  if (this[kExchange] === undefined) return stock._send.call(this, data, encoding, callback);
  if (data === '') {
    (this as unknown as { flushHeaders(): void }).flushHeaders();
    return true;
  }
  return write.call(this, data, encoding, callback);
}

function flushNothing(this: Response): void {
  if (this[kExchange] === undefined) stock._flush.call(this);
}

function prefinish(this: Response): void {
  if (this[kExchange] === undefined) stock._finish.call(this);
  else this.emit('prefinish');
}

/** Ends the connection: nothing more of this response can be sent. */
function destroy(this: Response, error?: Error): Response {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.destroy.call(this, error) as Response;
  if (this.destroyed) return this;
  this.destroyed = true;
  this[kErrored] = error;
  flushPending(exchange);
  if (exchange.isCurrent) exchange.connection.socket.destroy(error);
  else process.nextTick(emitClose, this);
  return this;
}

interface TimedSocket {
  setTimeout(milliseconds: number): unknown;
}

function setTimeout(this: Response, milliseconds: number, callback?: () => void): Response {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.setTimeout.call(this, milliseconds, callback) as Response;
  if (callback) this.on('timeout', callback);
  if (exchange.isCurrent) exchange.connection.socket.setTimeout(milliseconds);
  else this.once('socket', (socket: TimedSocket) => socket.setTimeout(milliseconds));
  return this;
}

interface HttpSocket {
  _httpMessage: unknown;
}

function assignSocket(this: Response, socket: HttpSocket): void {
  if (this[kExchange] === undefined) {
    stock.assignSocket.call(this, socket);
    return;
  }
  if (socket._httpMessage) throw socketAssigned();
  this[kExchange].connection.reassign(this[kExchange]);
  this.emit('socket', socket);
}

function detachSocket(this: Response, socket: HttpSocket): void {
  if (this[kExchange] === undefined) {
    stock.detachSocket.call(this, socket);
    return;
  }
  this[kExchange].connection.dequeue(this[kExchange]);
}
