/**
 * `write`: chunks that are kept until the tick ends, or while the response is corked, and leave together.
 */

import { Buffer } from 'node:buffer';
import process = require('node:process');
import * as layout from '../generated/layout';
import { WRITTEN_AT_ONCE_BYTES } from '../lane/raw-writes';
import type { Head } from '../lane/templates';
import { writeAhead } from '../lane/socket-writes';
import { byteLength, EXTERNAL_BYTES, type Chunk } from '../lane/writer';
import { contentLengthMismatch, streamDestroyed, writeAfterEnd } from './errors';
import { kExchange, type Callback, type Exchange, type PendingWrite } from './exchange';
import { checkEncoding, isBytes, isStrict, mayHaveBody, rejectChunk, reportError } from './response-chunks';
import { hasRoom } from './response-state';
import type { Response } from './server-response';
import { joinsChunks, joinsCorkedChunks, kChunkedBuffer, kChunkedLength, stockResponse } from './stock';

const { RESPONSE_FLAG_END, RESPONSE_FLAG_ACK } = layout;
/** Chunks up to this total are joined before they are handed over. */
const JOIN_BYTES = 16 * 1024;

const NO_BYTES = new Uint8Array();

type Stock = Record<string, (this: unknown, ...args: unknown[]) => unknown>;
const stock = stockResponse as Stock;

/** `response.write`. False: wait for 'drain'. */
export function write(this: Response, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.write.call(this, chunk, encoding, callback) as boolean;
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  if (typeof chunk !== 'string' && !isBytes(chunk)) rejectChunk(chunk);
  if (this.finished || this.destroyed) return refuseWrite(this, callback);
  if (exchange.raw !== null) exchange.raw.allowResponse(true);
  const length = byteLength(chunk, encoding as BufferEncoding);
  if (this.strictContentLength) checkPart(this, exchange, length);
  if (exchange.head === null) this._implicitHeader();
  if (!mayHaveBody(this, exchange)) {
    process.nextTick(typeof callback === 'function' ? callback as Callback : ignore);
    return true;
  }
  if (this.chunkedEncoding) checkEncoding(chunk, encoding);
  const { connection } = exchange;
  if (connection.closed || connection.destroying) return false;
  if (exchange.framed !== null) takeBuffered(exchange);
  addPending(exchange, chunk, length, (encoding ?? undefined) as BufferEncoding | undefined,
    typeof callback === 'function' ? callback as Callback : undefined);
  if (exchange.corked === 0 && (!exchange.isCurrent || joinsChunks && !exchange.flushScheduled && hasCorkedSocket(exchange))) {
    // Without its turn a response has no socket to be corked with: each write is a chunk, as in Node. So it is where the
    // program has corked the socket.
    flushPending(exchange);
  } else if (!exchange.flushScheduled && exchange.corked === 0) {
    exchange.flushScheduled = true;
    process.nextTick(flushScheduled, exchange);
  }
  const room = hasRoom(exchange);
  if (!room) exchange.needDrain = true;
  return room;
}

function hasCorkedSocket({ connection: { existingSocket } }: Exchange): boolean {
  return existingSocket !== null && existingSocket.writableCorked > 0;
}

function refuseWrite(response: Response, callback: unknown): boolean {
  const error = response.finished ? writeAfterEnd() : streamDestroyed('write');
  if (!response.destroyed) reportError(response, error, callback);
  else if (typeof callback === 'function') process.nextTick(callback as Callback, error);
  return false;
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
  if (hasLostBytes(exchange)) connection.laneSocket.resetAndDestroy();
  if (connection.closed || connection.destroying) {
    exchange.pending = null;
    exchange.pendingBytes = 0;
    const error = streamDestroyed('write');
    for (const { callback } of pending) if (callback !== undefined) process.nextTick(callback, error);
    return;
  }
  if (pendingBytes === 0 && exchange.headSent) {
    exchange.pending = null;
    acknowledgeNothing(exchange, pending.flatMap(({ callback }) => callback ?? []));
    return;
  }
  const isTold = isToldOfSends(exchange, pending);
  let callbacks = sendPending(exchange, isTold ? 0 : RESPONSE_FLAG_ACK, '');
  if (isTold) {
    const { token, lane: { writer } } = connection;
    if (writer.hasSent) return process.nextTick(sentAtOnce, exchange, callbacks);
    writer.data(token, exchange.sequence, RESPONSE_FLAG_ACK, '', 0, 'latin1');
  }
  exchange.unsentBytes += pendingBytes;
  if (callbacks !== null && exchange.unsentBytes <= WRITTEN_AT_ONCE_BYTES && exchange.isCurrent) {
    process.nextTick(callAll, callbacks);
    callbacks = null;
  }
  (exchange.acks ??= []).push({ bytes: pendingBytes, callbacks, end: false });
}

/**
 * Whether the engine says at once if the kernel has taken what is pending, and all before it. Not of a stream, whose frames wait
 * for their turns, not while it has been asked about earlier writes, which it answers in their order, and not while the socket
 * keeps something.
 */
function isToldOfSends(exchange: Exchange, pending: PendingWrite[]): boolean {
  const { connection: { existingSocket, isStream, lane: { writer } }, acks } = exchange;
  return writer.isToldOfSends && !isStream && pending[pending.length - 1].length >= EXTERNAL_BYTES
    && exchange.isCurrent && (acks === null || acks.length === 0)
    && (existingSocket === null || existingSocket.writableLength === 0 && existingSocket.writableCorked === 0);
}

/** The kernel has taken what was written: in the tick behind the write, as in Node, 'drain' and its callbacks come. */
function sentAtOnce(exchange: Exchange, callbacks: Callback[] | null): void {
  const { connection, response } = exchange;
  const isDry = exchange.unsentBytes + exchange.pendingBytes === 0 && !exchange.ended;
  if (exchange.needDrain && isDry && !connection.closed && !connection.destroying) {
    exchange.needDrain = false;
    response.emit('drain');
  }
  if (callbacks !== null) callAll(callbacks);
}

/**
 * Hands over what Node would have given the socket by now, because bytes follow that go past the response. Node 24 keeps
 * chunks that were written while corked, without the first, which takes the head along; Node 26 keeps those of the tick.
 */
export function flushWritten(exchange: Exchange): void {
  const { pending, response } = exchange;
  if (pending === null) return;
  const isKept = response.chunkedEncoding && (joinsChunks || joinsCorkedChunks && exchange.corked > 0);
  if (!isKept) {
    flushPending(exchange);
  } else if (!joinsChunks && !exchange.headSent) {
    const kept = pending.splice(1);
    exchange.pendingBytes = pending[0].length;
    flushPending(exchange);
    for (const { chunk, length, encoding, callback } of kept) addPending(exchange, chunk, length, encoding, callback);
    exchange.wasCorked = true;
  }
}

/** Callbacks of writes without bytes, of which nothing goes out: they come behind those that wait. */
function acknowledgeNothing(exchange: Exchange, callbacks: Callback[]): void {
  const waiting = exchange.acks?.at(-1)?.callbacks;
  if (waiting == null) process.nextTick(callAll, callbacks);
  else waiting.push(...callbacks);
}

/**
 * Whether bytes that were to be sent have gone from their chunk: the program has transferred its `ArrayBuffer` to another
 * thread, or made it smaller. The answer can't be completed then, and its client must see that.
 */
export function hasLostBytes({ pending }: Exchange): boolean {
  return pending !== null && pending.some(({ chunk, length }) => typeof chunk !== 'string' && chunk.byteLength !== length);
}

/** Keeps a chunk until what is pending is handed over. `length` in bytes. */
export function addPending(exchange: Exchange, chunk: Chunk, length: number, encoding: BufferEncoding | undefined,
  callback: Callback | undefined): void {
  (exchange.pending ??= []).push({ chunk, length, encoding, callback });
  exchange.pendingBytes += length;
}

/** What Node's `write` keeps while a response is corked: chunk, encoding, callback, and so on. */
export function takeBuffered(exchange: Exchange): void {
  const { response } = exchange;
  if (!Object.hasOwn(response, kChunkedBuffer)) return;
  const buffered = (response[kChunkedBuffer] as unknown[]).splice(0);
  let missing = response[kChunkedLength] as number;
  response[kChunkedLength] = 0;
  for (let at = 0; at < buffered.length; at += 3) {
    const chunk = buffered[at] as string | Uint8Array;
    const encoding = (buffered[at + 1] ?? undefined) as BufferEncoding | undefined;
    const length = byteLength(chunk, encoding);
    missing -= length;
    addPending(exchange, chunk, length, encoding, buffered[at + 2] as Callback | undefined);
  }
  // Bytes that have gone from their chunk since it was written: see `hasLostBytes`.
  if (missing > 0) addPending(exchange, NO_BYTES, missing, undefined, undefined);
  if (buffered.length > 0) exchange.wasCorked = true;
}

/** Hands over what was written; the last record carries `flags`. Returns the callbacks of what was handed over. */
export function sendPending(exchange: Exchange, flags: number, trailer: string): Callback[] | null {
  const { connection: { token, lane: { writer } }, sequence } = exchange;
  writeSocketAhead(exchange);
  const chunks = chunksOf(exchange);
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

/** What is pending, as the chunks that it becomes on the wire. */
function chunksOf(exchange: Exchange): PendingWrite[] {
  const { pending, pendingBytes, wasCorked } = exchange;
  exchange.wasCorked = false;
  if (pending === null) return [];
  if (joinsChunks || !exchange.response.chunkedEncoding) return joinSmall(pending, pendingBytes);
  if (!joinsCorkedChunks || !wasCorked) return joinSmall(pending, Infinity);
  // Node 24 lets the head out with the first write, corked or not, and joins what follows.
  if (exchange.headSent) return joinSmall(pending, pendingBytes);
  return [...joinSmall(pending.slice(0, 1), 0), ...joinSmall(pending.slice(1), pendingBytes)];
}

/** Several small chunks as one: what is written in one tick is one chunk on the wire, as in newer versions of Node. */
function joinSmall(chunks: PendingWrite[], bytes: number): PendingWrite[] {
  if (chunks.length < 2 || bytes > JOIN_BYTES) return chunks.filter(({ length }) => length > 0);
  const text = joinAscii(chunks, bytes);
  if (text !== undefined) return [{ chunk: text, length: bytes, encoding: undefined, callback: undefined }];
  const joined = Buffer.concat(chunks.map(({ chunk, encoding }) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)));
  return joined.byteLength === 0 ? [] : [{ chunk: joined, length: joined.byteLength, encoding: undefined, callback: undefined }];
}

/**
 * Chunks of text as one text. Only of ASCII, which as many characters as bytes show: elsewhere half a surrogate pair at
 * the end of one and at the beginning of the next would become a whole one.
 */
function joinAscii(chunks: PendingWrite[], bytes: number): string | undefined {
  let text = '';
  for (const { chunk, encoding } of chunks) {
    if (typeof chunk !== 'string' || encoding !== undefined && encoding !== 'utf8') return undefined;
    text += chunk;
  }
  return text.length === bytes && bytes > 0 ? text : undefined;
}

/** The head, with the whole of the body, its beginning, or nothing of it. */
export function sendHead(exchange: Exchange, flags: number, chunk: Chunk | undefined, length: number,
  encoding: BufferEncoding | undefined): void {
  const { connection, sequence } = exchange;
  const head = exchange.head as Head;
  exchange.headSent = true;
  writeSocketAhead(exchange);
  connection.lane.writer.respond(connection.token, sequence, exchange.headFlags | flags, head.status, head.template, head.reason,
    head.lines, chunk, length, encoding, exchange.contentLength);
}

/** What the program has written to the socket, and the socket's stream still keeps, goes before what the response hands over. */
export function writeSocketAhead(exchange: Exchange): void {
  const { connection } = exchange;
  const { existingSocket } = connection;
  if (existingSocket !== null && existingSocket.writableLength > 0 && exchange.isCurrent) writeAhead(connection, existingSocket);
}

/** Calls callbacks of chunks that have been sent. */
export function callAll(callbacks: Callback[]): void {
  for (const callback of callbacks) callback(null);
}

function ignore(): void { /* No callback was given. */ }
