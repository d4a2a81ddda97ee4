/**
 * `end`: the last records of a response, and who is told of them.
 *
 * An acknowledgement is asked for only where the program can notice it.
 */

import { executionAsyncId } from 'node:async_hooks';
import process = require('node:process');
import * as layout from '../generated/layout';
import { WRITTEN_AT_ONCE_BYTES } from '../lane/raw-writes';
import { byteLength, type Chunk } from '../lane/writer';
import { alreadyFinished, contentLengthMismatch, writeAfterEnd } from './errors';
import { kExchange, type Callback, type Exchange } from './exchange';
import { finish, finishIsObserved, leave, mayStandBehindOthers } from './lifecycle';
import { hasPatchedEmit, isObserved } from '../node/observation';
import { checkedChunk, checkEncoding, isStrict, mayHaveBody, reportError } from './response-chunks';
import { addPending, callAll, flushPending, hasLostBytes, sendHead, sendPending, takeBuffered } from './response-write';
import type { Response } from './server-response';
import { hasOwnDetach } from './socket-turns';
import { finishesEarly, stockResponse } from './stock';

const { RESPONSE_FLAG_END, RESPONSE_FLAG_ACK } = layout;
type Stock = Record<string, (this: unknown, ...args: unknown[]) => unknown>;
const stock = stockResponse as Stock;

/** `response.end`. */
export function end(this: Response, chunk?: unknown, encoding?: unknown, callback?: unknown): Response {
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
  if (exchange.raw !== null) exchange.raw.allowResponse(length > 0);
  if (this.strictContentLength && body !== undefined) {
    checkWritten(this, exchange.writtenBytes + length);
    exchange.writtenBytes += length;
  }
  if (exchange.head === null && !this.destroyed) {
    this._contentLength = length;
    this._implicitHeader();
  }
  if (typeof callback === 'function') addEndCallback(this, exchange, callback as Callback);
  if (this.destroyed) return endDestroyed(this, exchange);
  // Once more: the head, which may have been made just now, tells the length.
  if (this.strictContentLength) checkWritten(this, exchange.writtenBytes);
  const allowed = body !== undefined && mayHaveBody(this, exchange);
  if (allowed && this.chunkedEncoding) checkEncoding(body, encoding);
  this.finished = true;
  exchange.corked = 0;
  if (exchange.connection.isOver) return endUnsent(this, exchange);
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

/** `strictContentLength`: what was written must be what was announced. */
function checkWritten(response: Response, bytes: number): void {
  if (isStrict(response) && bytes !== response._contentLength) throw contentLengthMismatch(bytes, response._contentLength as number);
}

/** `end` behind the end of the socket, or behind its destruction, which has yet to be told: nothing is sent, and as in Node the response never finishes. */
function endUnsent(response: Response, exchange: Exchange): Response {
  exchange.ended = true;
  exchange.acknowledged = true;
  exchange.unsendable = true;
  exchange.pending = null;
  exchange.pendingBytes = 0;
  if (isObserved(response) && exchange.isCurrent) response._finish();
  return response;
}

/** The last records of a response. */
export function finishOutput(response: Response, exchange: Exchange, chunk: Chunk | undefined, length: number,
  encoding: BufferEncoding | undefined): void {
  const { connection } = exchange;
  if (exchange.framed !== null) takeBuffered(exchange);
  if (hasLostBytes(exchange)) {
    flushPending(exchange);
    endUnsent(response, exchange);
    return;
  }
  const noticed = isNoticed(response, exchange);
  const trailer = response._trailer !== '' && (response.chunkedEncoding || connection.isStream) && response._hasBody ? response._trailer : '';
  const early = noticed && exchange.isCurrent && exchange.unsentBytes + exchange.pendingBytes + length <= WRITTEN_AT_ONCE_BYTES;
  const isAcknowledged = noticed && (!early || mayStandBehindOthers(exchange));
  let flags = isAcknowledged ? RESPONSE_FLAG_END | RESPONSE_FLAG_ACK : RESPONSE_FLAG_END;
  if (response._last) {
    flags |= connection.closeFlag;
    connection.ending = true;
  }
  exchange.acknowledged = noticed;
  exchange.ended = true;
  exchange.endTurn = connection.lane.turn;
  exchange.endAsyncId = executionAsyncId();
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
    if (!exchange.isCurrent) exchange.unsentBytes += length;
    leave(exchange);
    return;
  }
  if (isAcknowledged) (exchange.acks ??= []).push({ bytes: early ? 0 : length, callbacks: null, end: true });
  if (early) process.nextTick(finishEarly, exchange);
  else exchange.unsentBytes += length;
  if (isObserved(response) && exchange.isCurrent) response._finish();
}

/**
 * What surely fits into the socket's buffer counts as sent, as it does in Node, which writes it at once: 'finish' comes
 * in the next tick, and the engine need not tell when it has really sent it.
 */
function finishEarly(exchange: Exchange): void {
  if (!exchange.finished) finish(exchange);
}

/** Whether the program could tell when the response has been sent. If not, the engine need not tell us. */
function isNoticed(response: Response, exchange: Exchange): boolean {
  return isObserved(response) || hasOwnDetach(response) || hasPatchedEmit(exchange.request) || exchange.endCallbacks !== null || exchange.touched
    || (exchange.flags & layout.REQUEST_FLAG_COMPLETE) === 0 || exchange.pending !== null
    || exchange.acks !== null && exchange.acks.length > 0 || response._last && exchange.connection.hasSocket || finishIsObserved();
}
