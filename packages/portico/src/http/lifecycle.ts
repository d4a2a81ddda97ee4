/** The end of responses, of connections, and of what was in flight on them. */

import process = require('node:process');
import { getDefaultHighWaterMark } from 'node:stream';
import diagnostics = require('node:diagnostics_channel');
import type { Connection } from '../lane/connection';
import { WRITTEN_AT_ONCE_BYTES } from '../lane/raw-writes';
import { endReadable } from '../lane/connection-end';
import type { Acknowledgement, Exchange } from './exchange';
import { connectionReset } from './errors';
import type { Pipeline } from './pipeline';
import { answered, stopsNode } from './body';
import { isObserved } from '../node/observation';
import { Given } from '../node/own-property';
import { beginTurn, endTurn } from './socket-turns';
import { isReadUnasked } from './unread-body';
import { endMeasure, isMeasured } from './performance';

const responseFinish = diagnostics.channel('http.server.response.finish');

/** What a head counts for among the bytes of an answer that waits for its turn; Node's shortest has about so many. */
const HEAD_BYTES = 100;

/** Whether the program subscribed to the end of responses. */
export function finishIsObserved(): boolean {
  return responseFinish.hasSubscribers || isMeasured();
}

/** Event `FLUSHED`: so many records, oldest first, have been handed to the kernel. */
export function flushed(pipeline: Pipeline, count: number, queuedBytes: number): void {
  acknowledgeAll(pipeline, count, queuedBytes);
  if (pipeline.peerHasEnded) setImmediate(endWithPeer, pipeline);
}

function acknowledgeAll(pipeline: Pipeline, count: number, queuedBytes: number): void {
  for (let left = count; left > 0; left--) {
    if (pipeline.orphanedAcks > 0) {
      pipeline.orphanedAcks--;
      continue;
    }
    const exchange = nextAwaiting(pipeline);
    if (exchange === null) {
      pipeline.connection.written();
      continue;
    }
    const ack = (exchange.acks as Acknowledgement[]).shift() as Acknowledgement;
    acknowledge(exchange, ack, queuedBytes);
    // The 'close' of a response comes before the 'finish' of the next.
    if (ack.end && left > 1) {
      process.nextTick(acknowledgeAll, pipeline, left - 1, queuedBytes);
      return;
    }
  }
}

/**
 * Event `FLUSHED` of a host, which names the request: so many of its records have been handed to the kernel. 0: of the
 * tunnel.
 */
export function flushedOf(pipeline: Pipeline, sequence: number, count: number, queuedBytes: number): void {
  if (pipeline.finishing) return process.nextTick(flushedOf, pipeline, sequence, count, queuedBytes);
  const exchange = sequence === 0 ? undefined : pipeline.find(sequence);
  for (let left = count; left > 0; left--) {
    if (sequence === 0) pipeline.connection.written();
    else if (exchange === undefined) acknowledgeOrphan(pipeline, sequence);
    const ack = exchange?.acks?.shift();
    if (exchange === undefined || ack === undefined) continue;
    acknowledge(exchange, ack, queuedBytes);
    if (!ack.end) continue;
    // The 'close' of a response comes before the 'finish' of the next.
    pipeline.finishing = true;
    process.nextTick(goOn, pipeline);
  }
  if (pipeline.peerHasEnded) setImmediate(endWithPeer, pipeline);
}

/** An acknowledgement for a response that counts as finished. Behind the last of a connection its socket ends. */
function acknowledgeOrphan(pipeline: Pipeline, sequence: number): void {
  if (pipeline.orphanedAcks > 0) pipeline.orphanedAcks--;
  const { unsentLast } = pipeline;
  if (unsentLast?.sequence !== sequence || --unsentLast.acks > 0) return;
  pipeline.unsentLast = null;
  endConnection(pipeline.connection);
}

function goOn(pipeline: Pipeline): void {
  pipeline.finishing = false;
}

/**
 * Responses are sent in the order of their requests, and so are the acknowledgements. One that comes before the response
 * whose turn it is has ended is not of those behind it: bytes were written to the socket as they are.
 */
function nextAwaiting({ current, queue }: Pipeline): Exchange | null {
  if (current !== null && hasAcks(current)) return current;
  if (current?.ended === false) return null;
  return queue?.find(hasAcks) ?? null;
}

function hasAcks(exchange: Exchange): boolean {
  return exchange.acks !== null && exchange.acks.length > 0;
}

function acknowledge(exchange: Exchange, ack: Acknowledgement, queuedBytes: number): void {
  exchange.unsentBytes = Math.max(0, exchange.unsentBytes - ack.bytes);
  const isDry = !exchange.ended && queuedBytes === 0 && exchange.unsentBytes + exchange.pendingBytes === 0;
  if (exchange.needDrain && isDry && !ack.end) {
    exchange.needDrain = false;
    exchange.response.emit('drain');
  }
  ack.callbacks?.forEach((callback) => callback(null));
  if (ack.end) finish(exchange);
}

/** The response has been sent: 'finish', and in the next tick 'close'. */
export function finish(exchange: Exchange): void {
  const { response } = exchange;
  const callbacks = exchange.endCallbacks;
  exchange.endCallbacks = null;
  exchange.finished = true;
  try {
    // The response still has its socket.
    callbacks?.forEach((callback) => callback(null));
  } finally {
    release(exchange);
  }
  if (exchange.framed?.tellsFinish !== true) response.emit('finish');
}

/** What the server does when a response is finished, before the program's own listeners. */
function release(exchange: Exchange): void {
  const { connection, request, response } = exchange;
  if (isMeasured()) endMeasure(response);
  if (responseFinish.hasSubscribers) {
    const { server } = connection.server;
    responseFinish.publish({ request, response, socket: connection.socket, server });
  }
  if (exchange.touched || isReadUnasked(exchange)) answered(exchange);
  else if (!exchange.complete && !connection.tunnel) request._dump();
  endTurn(exchange);
  if (response._last) endBehind(exchange);
  process.nextTick(emitClose, response);
  leave(exchange);
}

/**
 * Whether this is the last response of a connection that a host shares among processes: it waits there for earlier ones,
 * and one of them may come here yet, from a process that has died. The response counts as finished like others, but the
 * socket ends only when the host says that it is sent: behind that nothing more can be answered.
 */
export function mayStandBehindOthers({ connection, response }: Exchange): boolean {
  return response._last && connection.isShared && !connection.isStream;
}

/** The connection ends behind its last response. */
function endBehind(exchange: Exchange): void {
  const { connection, pipeline, sequence } = exchange;
  const acks = exchange.acks?.length ?? 0;
  if (acks > 0 && mayStandBehindOthers(exchange)) pipeline.unsentLast = { sequence, acks };
  else endConnection(connection);
}

/** The engine closes after this response; a socket that the program holds shows it. */
function endConnection(connection: Connection): void {
  connection.ending = true;
  if (connection.existingSocket?.writable) connection.existingSocket.end();
}

/** The exchange gives its place to the next in order. */
export function leave(exchange: Exchange): void {
  exchange.pipeline.orphanedAcks += exchange.acks?.length ?? 0;
  const { pipeline } = exchange;
  const next = pipeline.dequeue(exchange);
  if (pipeline.endsBehindAnswers && pipeline.current === null) setImmediate(endSide, pipeline);
  // As in Node, a queued response learns of its socket when its turn comes.
  if (next === null || next.response === undefined) return;
  beginTurn(next);
  if (!next.ended) return;
  // What waited is written now, and what surely fits counts as sent.
  if (next.acks?.at(-1)?.end === true && next.unsentBytes <= WRITTEN_AT_ONCE_BYTES) process.nextTick(finishWritten, next);
  if (isObserved(next.response)) next.response._finish();
}

/**
 * What surely fits into the socket's buffer counts as sent, as it does in Node, which writes it at once: 'finish' comes
 * in the next tick, and the engine need not tell when it has really sent it.
 */
export function finishWritten(exchange: Exchange): void {
  if (exchange.finished || !exchange.isCurrent) return;
  exchange.unsentBytes = 0;
  for (const { callbacks } of exchange.acks ?? []) callbacks?.forEach((callback) => callback(null));
  finish(exchange);
}

interface Closable {
  _closed: boolean;
  destroyed: boolean;
  emit(event: 'close'): boolean;
}

/** What is true of a closed response, as own properties. */
class ClosedFields extends Given {
  destroyed = true;
  _closed = true;
}

/** 'close' of a response, once. */
export function emitClose(response: Closable): void {
  if (response._closed) return;
  new ClosedFields(response);
  response.emit('close');
}

/**
 * The peer has ended its side behind requests that the engine does not read, since enough of them wait for answers, and none
 * has come for a time. Where the server answers on regardless, or an answer is on its way, so do we: it is told again. Where
 * a body waits for its reader, it counts as behind that body alone.
 */
export function unreadEnd(pipeline: Pipeline): void {
  const { current, connection, connection: { server: { server } } } = pipeline;
  const moves = pipeline.orphanedAcks > 0 || current !== null && hasAcks(current);
  if (connection.tunnel || connection.destroying || connection.closed || server.httpAllowHalfOpen === true || moves) return;
  const unread = findUnread(pipeline);
  if (!unread) return endSide(pipeline);
  if (pipeline.awaitedReader === unread) return;
  pipeline.awaitedReader = unread;
  endUnlessRead(pipeline, unread, () => pipeline.find(unread.sequence) === unread);
}

/** The peer has ended its side while a request is in flight. */
export function peerEnded(pipeline: Pipeline): void {
  const { connection } = pipeline;
  pipeline.peerHasEnded = true;
  // Node reads the end in a later turn of the loop than what came before it: handlers have had their turn by then.
  if (pipeline.heardWake !== connection.lane.wake) endWithPeer(pipeline);
  else connection.resource.runInAsyncScope(setImmediate, undefined, endWithPeer, pipeline);
}

/**
 * The peer's end counts once what is being answered has gone as far as it goes without another event: a body that is
 * piped into the answer waits for 'drain' in between.
 */
function endWithPeer(pipeline: Pipeline): void {
  const { current, connection } = pipeline;
  if (connection.destroying || connection.closed || !pipeline.peerHasEnded) return;
  if (!connection.ended && (pipeline.orphanedAcks > 0 || current !== null && hasAcks(current))) return;
  if (!connection.ended && pipeline.stopsReading && hasMuchWaiting(pipeline)) return;
  if (!connection.ended && pipeline.readsNoEnd && current !== null) return waitForAnswers(pipeline);
  // Nor where a body waits for its reader.
  const unread = findUnread(pipeline);
  if (unread) {
    pipeline.peerHasEnded = false;
    waitForReader(pipeline, unread);
    return;
  }
  const last = pipeline.queue?.at(-1) ?? current;
  if (last !== null && isBeingRead(last)) return void setImmediate(endWithPeer, pipeline);
  pipeline.peerHasEnded = false;
  endSide(pipeline);
}

/**
 * The peer has ended its side behind a body that was left, where Node does not hear of it. Its end counts when all is answered,
 * or when no answer has begun for as long as a request may take to arrive.
 */
function waitForAnswers(pipeline: Pipeline): void {
  const { connection, connection: { server: { server: { requestTimeout } } } } = pipeline;
  pipeline.peerHasEnded = false;
  pipeline.endsBehindAnswers = true;
  if (typeof requestTimeout !== 'number' || requestTimeout <= 0) return;
  const timer = setTimeout(() => {
    if (pipeline.current?.headSent === true) timer.refresh();
    else endSide(pipeline);
  }, requestTimeout).unref();
  connection.whenClosed(() => clearTimeout(timer));
}

/**
 * The peer has ended its side behind a body that waits for its reader. Its end counts when the reader has come to the end, or
 * has taken nothing for as long as a request may take to arrive: a client that has gone must not be kept for ever.
 */
function waitForReader(pipeline: Pipeline, exchange: Exchange): void {
  let isOver = false;
  exchange.request.once('end', () => {
    if (isOver) return;
    pipeline.peerHasEnded = true;
    setImmediate(endWithPeer, pipeline);
  });
  endUnlessRead(pipeline, exchange, () => isOver = true);
}

/** Ends the peer's side when the reader of a body has taken nothing for as long as a request may take to arrive, if `isDue` says so then. */
function endUnlessRead(pipeline: Pipeline, exchange: Exchange, isDue: () => boolean): void {
  const { connection } = pipeline;
  const { requestTimeout } = connection.server.server;
  if (typeof requestTimeout !== 'number' || requestTimeout <= 0) return;
  const timer = setTimeout(() => {
    if (isBeingRead(exchange)) timer.refresh();
    else if (!exchange.request.readableEnded && isDue()) endSide(pipeline);
  }, requestTimeout).unref();
  connection.whenClosed(() => clearTimeout(timer));
}

/** A request of which so much is unread that Node would not read on. */
function findUnread({ current, queue }: Pipeline): Exchange | null | undefined {
  return [current, ...queue ?? []].find((exchange) => exchange?.request.destroyed === false && stopsNode(exchange));
}

/** The peer's side ends for the program. The socket's 'end' is what the server listens to. */
function endSide(pipeline: Pipeline): void {
  const { connection } = pipeline;
  if (connection.destroying || connection.closed) return;
  if (connection.hasSocket) endReadable(connection.laneSocket);
  else followPeer(pipeline);
}

/**
 * A request has come behind others: as Node, which looks at it only then, we would read no more where so much waits of
 * the answers before.
 */
export function requestQueued(pipeline: Pipeline): void {
  pipeline.stopsReading = hasMuchWaiting(pipeline);
}

/** Whether so much waits behind the answer whose turn it is that Node reads nothing of the connection. */
function hasMuchWaiting({ queue }: Pipeline): boolean {
  const waiting = queue?.reduce((bytes, { headSent, unsentBytes }) => bytes + unsentBytes + (headSent ? HEAD_BYTES : 0), 0) ?? 0;
  return waiting >= getDefaultHighWaterMark(false);
}

/** The peer has ended its side, and the program has seen it: ours ends too, unless the server leaves it open. */
export function followPeer(pipeline: Pipeline): void {
  const { current, queue, connection, connection: { server: { server } } } = pipeline;
  if (connection.closed || connection.destroying) return;
  const last = queue?.at(-1) ?? current;
  if (server.httpAllowHalfOpen === true && last !== null) {
    last.response._last = true;
    return;
  }
  connection.existingSocket?.end();
  connection.shutdown(true);
}

/** Whether the reader of a body has taken something of what has come since this was asked the last time. */
function isBeingRead(exchange: Exchange): boolean {
  const { touched, request, unreadBytes } = exchange;
  if (!touched || request.readableEnded || request.destroyed || request.readableLength >= unreadBytes) return false;
  exchange.unreadBytes = request.readableLength;
  return true;
}

/** An orderly end comes after everything was sent: a response that was complete is finished. */
export function finishNext({ current }: Pipeline): boolean {
  if (current === null || !current.ended || current.finished || current.unsendable) return false;
  finishWritten(current);
  return true;
}

/** Requests and responses that were in flight: 'aborted', 'error', 'close', in Node's order. */
export function abandonExchanges(pipeline: Pipeline): void {
  abortIncoming(pipeline);
  abandonCurrent(pipeline);
}

/** All but the response whose turn it was. */
export function abortIncoming(pipeline: Pipeline): void {
  const { current, queue } = pipeline;
  pipeline.queue = null;
  pipeline.receiving = null;
  pipeline.interrupted = null;
  if (current === null) return;
  const waiting = queue ?? [];
  for (const exchange of [current, ...waiting]) {
    exchange.abortController?.abort();
    exchange.request.destroy(connectionReset());
  }
  for (const exchange of waiting) exchange.response.destroy(connectionReset());
}

/** The response whose turn it was. */
export function abandonCurrent(pipeline: Pipeline): void {
  const { current } = pipeline;
  pipeline.current = null;
  if (current === null) return;
  pipeline.abandoned = current;
  emitClose(current.response);
}
