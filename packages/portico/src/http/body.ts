/** Bodies of requests: what has come of one, who reads it, and how much of it is kept meanwhile. */

import { getDefaultHighWaterMark } from 'node:stream';
import type { Connection } from '../lane/connection';
import { emitFlowing, stockPush } from '../lane/flowing';
import type { Exchange } from './exchange';
import type { Pipeline } from './pipeline';
import { dumpUnread, isReadUnasked, mayBeRead } from './unread-body';

/** What a server has as `highWaterMark` whose program says nothing of it. */
const DEFAULT_BYTES = getDefaultHighWaterMark(false);
/**
 * Bytes of a body that are kept for a reader that is behind, unless the program says how many: what the newest Node
 * keeps. Older ones keep a quarter, and have a connection wait for ever that the newest goes on with.
 */
const KEPT_BYTES = Math.max(DEFAULT_BYTES, 64 * 1024);

/**
 * The same once the request has been answered. More than any Node keeps, however the body falls into parts: a reader
 * that comes back finds it, and a body that was left at its end does not stop the connection.
 */
const KEPT_BEHIND_ANSWER_BYTES = 256 * 1024;

/** The request has arrived in full. As in Node, a socket that was paused meanwhile goes on. */
export function complete(exchange: Exchange): void {
  const { connection } = exchange;
  exchange.complete = true;
  exchange.held = false;
  exchange.pipeline.bodyEnds(exchange);
  if (exchange.touched) exchange.request.push(null);
  else isReadUnasked(exchange);
  resumeSocket(connection);
}

/** The answer has been sent. What is left of the body must not stop the connection, unless the program may read on. */
export function answered(exchange: Exchange): void {
  const { request } = exchange;
  dumpUnread(request);
  if (!exchange.held || request._dumped) return;
  if (isBehind(exchange)) stop(exchange);
  else wantMore(exchange);
}

/** A part of a body that has come: to its reader, or kept for it. */
export function deliver(exchange: Exchange, chunk: Buffer): void {
  const { request } = exchange;
  if (exchange.touched) {
    if (request.destroyed && !request._dumped) return exchange.pipeline.passOver(exchange);
    noteFlow(exchange);
    if (isUndisturbed(exchange) && emitFlowing(request, chunk)) return;
    // `_read` wants more again.
    if (!request._dumped && !request.push(chunk) && isBehind(exchange)) stop(exchange);
    return;
  }
  (exchange.body ??= []).push(chunk);
  exchange.bodyBytes += chunk.byteLength;
  if (isBehind(exchange)) hold(exchange);
}

/** Whether `push` and `_read` would do nothing with a chunk but to hand it on. */
function isUndisturbed({ connection, request, held }: Exchange): boolean {
  return !held && !connection.hasSocket && connection.server.incomingMessage === undefined && !request._dumped
    && (request.push as unknown) === stockPush;
}

/** Whether so much of a body waits for its reader that no more of it is taken. */
export function isBehind({ connection, touched, request, bodyBytes, finished }: Exchange): boolean {
  const { highWaterMark = DEFAULT_BYTES } = connection.server;
  const kept = highWaterMark === DEFAULT_BYTES ? KEPT_BYTES : highWaterMark;
  return (touched ? request.readableLength : bodyBytes) >= (finished ? Math.max(kept, KEPT_BEHIND_ANSWER_BYTES) : kept);
}

/** No more of a body is kept: its reader goes on later, or there is none, and the connection goes on without. */
function stop(exchange: Exchange): void {
  if (exchange.finished && !mayBeRead(exchange)) {
    exchange.pipeline.leave(exchange);
    exchange.request._dump();
  } else {
    hold(exchange);
  }
}

/** A body that flows again is read, whatever stopped it. */
export function noteFlow(exchange: Exchange): void {
  if (exchange.unpiped && exchange.request._readableState.flowing === true) exchange.unpiped = false;
}

/** Whether so much of a body waits for its reader that Node would not have read on; older ones wait for less than we. */
export function stopsNode({ connection, touched, request, bodyBytes }: Exchange): boolean {
  return (touched ? request.readableLength : bodyBytes) >= (connection.server.highWaterMark ?? DEFAULT_BYTES);
}

/** The reader of a body has fallen behind: the engine hands over no more of it, until it is wanted or has ended. */
function hold(exchange: Exchange): void {
  const { connection } = exchange;
  if (exchange.held || exchange.pipeline.receiving !== exchange) return;
  exchange.held = true;
  connection.holdBody(exchange.sequence);
}

/** The reader of a body wants more. */
export function wantMore(exchange: Exchange): void {
  const { connection } = exchange;
  if (exchange.held) {
    exchange.held = false;
    connection.wantBody(exchange.sequence);
  }
  resumeSocket(connection);
}

/** The program has resumed the socket: as in Node, a body comes then even if its reader has not asked for it. */
export function socketResumed({ receiving, connection }: Pipeline): void {
  if (receiving?.held !== true) return;
  receiving.held = false;
  connection.wantBody(receiving.sequence);
}

/** A socket that shows that it is paused is so no longer. */
function resumeSocket({ existingSocket }: Connection): void {
  if (existingSocket?.readableFlowing === false && existingSocket.readable) existingSocket.resume();
}
