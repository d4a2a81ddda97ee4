/** The end of responses, of connections, and of what was in flight on them. */

import process = require('node:process');
import { getDefaultHighWaterMark } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import diagnostics = require('node:diagnostics_channel');
import type { Connection } from '../lane/connection';
import type { LaneSocket } from '../lane/socket';
import type { Acknowledgement, Exchange } from './exchange';
import { connectionReset } from './errors';
import { answered, stopsNode } from './body';
import { isHeard, isObserved } from '../node/observation';
import { Given } from '../node/own-property';
import { beginTurn, endTurn } from './socket-turns';
import { WRITTEN_AT_ONCE_BYTES } from './response-write';
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
export function flushed(connection: Connection, count: number, queuedBytes: number): void {
  acknowledgeAll(connection, count, queuedBytes);
  if (connection.peerHasEnded) setImmediate(endWithPeer, connection);
}

function acknowledgeAll(connection: Connection, count: number, queuedBytes: number): void {
  for (let left = count; left > 0; left--) {
    if (connection.orphanedAcks > 0) {
      connection.orphanedAcks--;
      continue;
    }
    const exchange = nextAwaiting(connection);
    if (exchange === null) {
      connection.written();
      continue;
    }
    const ack = (exchange.acks as Acknowledgement[]).shift() as Acknowledgement;
    acknowledge(exchange, ack, queuedBytes);
    // The 'close' of a response comes before the 'finish' of the next.
    if (ack.end && left > 1) {
      process.nextTick(acknowledgeAll, connection, left - 1, queuedBytes);
      return;
    }
  }
}

/**
 * Event `FLUSHED` of a host, which names the request: so many of its records have been handed to the kernel. 0: of the
 * tunnel.
 */
export function flushedOf(connection: Connection, sequence: number, count: number, queuedBytes: number): void {
  if (connection.finishing) return process.nextTick(flushedOf, connection, sequence, count, queuedBytes);
  const exchange = sequence === 0 ? undefined : connection.find(sequence);
  for (let left = count; left > 0; left--) {
    if (sequence === 0) connection.written();
    else if (exchange === undefined && connection.orphanedAcks > 0) connection.orphanedAcks--;
    const ack = exchange?.acks?.shift();
    if (exchange === undefined || ack === undefined) continue;
    acknowledge(exchange, ack, queuedBytes);
    if (!ack.end) continue;
    // The 'close' of a response comes before the 'finish' of the next.
    connection.finishing = true;
    process.nextTick(goOn, connection);
  }
  if (connection.peerHasEnded) setImmediate(endWithPeer, connection);
}

function goOn(connection: Connection): void {
  connection.finishing = false;
}

/**
 * Responses are sent in the order of their requests, and so are the acknowledgements. One that comes before the response
 * whose turn it is has ended is not of those behind it: bytes were written to the socket as they are.
 */
function nextAwaiting(connection: Connection): Exchange | null {
  const { current, queue } = connection;
  if (current !== null && hasAcks(current)) return current;
  if (current?.ended === false) return null;
  return queue?.find(hasAcks) ?? null;
}

function hasAcks(exchange: Exchange): boolean {
  return exchange.acks !== null && exchange.acks.length > 0;
}

function acknowledge(exchange: Exchange, ack: Acknowledgement, queuedBytes: number): void {
  exchange.unsentBytes = Math.max(0, exchange.unsentBytes - ack.bytes);
  ack.callbacks?.forEach((callback) => callback(null));
  if (ack.end) {
    finish(exchange);
  } else if (exchange.needDrain && !exchange.ended && queuedBytes === 0 && exchange.unsentBytes + exchange.pendingBytes === 0) {
    exchange.needDrain = false;
    exchange.response.emit('drain');
  }
}

/** The response has been sent: 'finish', and in the next tick 'close'. */
export function finish(exchange: Exchange): void {
  const { response } = exchange;
  const callbacks = exchange.endCallbacks;
  exchange.endCallbacks = null;
  exchange.finished = true;
  release(exchange);
  callbacks?.forEach((callback) => callback(null));
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
  if (response._last) endConnection(connection);
  process.nextTick(emitClose, response);
  leave(exchange);
}

/** The engine closes after this response; a socket that the program holds shows it. */
function endConnection(connection: Connection): void {
  connection.ending = true;
  if (connection.existingSocket?.writable) connection.existingSocket.end();
}

/** The exchange gives its place to the next in order. */
export function leave(exchange: Exchange): void {
  exchange.connection.orphanedAcks += exchange.acks?.length ?? 0;
  const next = exchange.connection.dequeue(exchange);
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
  if (exchange.finished || exchange.connection.current !== exchange) return;
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
 * has come for a time. Where the server answers on regardless, or an answer or a body is on its way, so do we: it is told
 * again.
 */
export function unreadEnd(connection: Connection): void {
  const { current, server: { server } } = connection;
  const moves = connection.orphanedAcks > 0 || current !== null && hasAcks(current) || findUnread(connection) !== undefined;
  if (connection.tunnel || connection.destroying || connection.closed || server.httpAllowHalfOpen === true || moves) return;
  endSide(connection);
}

/** The peer has ended its side while a request is in flight. */
export function peerEnded(connection: Connection): void {
  if (connection.tunnel) {
    const socket = connection.laneSocket;
    // A descriptor that the program no longer reads does not keep a process alive in Node either.
    connection.lane.engine.setConnectionRef(connection.token, false);
    endReadable(socket);
    return;
  }
  connection.peerHasEnded = true;
  // Node reads the end in a later turn of the loop than what came before it: handlers have had their turn by then.
  if (connection.heardWake !== connection.lane.wake) endWithPeer(connection);
  else connection.resource.runInAsyncScope(setImmediate, undefined, endWithPeer, connection);
}

/**
 * The peer's end counts once what is being answered has gone as far as it goes without another event: a body that is
 * piped into the answer waits for 'drain' in between.
 */
function endWithPeer(connection: Connection): void {
  const { current } = connection;
  if (connection.destroying || connection.closed || !connection.peerHasEnded) return;
  if (!connection.ended && (connection.orphanedAcks > 0 || current !== null && hasAcks(current))) return;
  if (!connection.ended && connection.stopsReading && hasMuchWaiting(connection)) return;
  // Nor where a body waits for its reader.
  const unread = findUnread(connection);
  if (unread) {
    connection.peerHasEnded = false;
    unread.request.once('end', () => {
      connection.peerHasEnded = true;
      setImmediate(endWithPeer, connection);
    });
    return;
  }
  const last = connection.queue?.at(-1) ?? current;
  if (last !== null && isBeingRead(last)) return void setImmediate(endWithPeer, connection);
  connection.peerHasEnded = false;
  endSide(connection);
}

/** A request of which so much is unread that Node would not read on. */
function findUnread({ current, queue }: Connection): Exchange | null | undefined {
  return [current, ...queue ?? []].find((exchange) => exchange?.request.destroyed === false && stopsNode(exchange));
}

/** The peer's side ends for the program. The socket's 'end' is what the server listens to. */
function endSide(connection: Connection): void {
  if (connection.hasSocket) endReadable(connection.laneSocket);
  else followPeer(connection);
}

/**
 * A request has come behind others: as Node, which looks at it only then, we would read no more where so much waits of
 * the answers before.
 */
export function requestQueued(connection: Connection): void {
  connection.stopsReading = hasMuchWaiting(connection);
}

/** Whether so much waits behind the answer whose turn it is that Node reads nothing of the connection. */
function hasMuchWaiting({ queue }: Connection): boolean {
  const waiting = queue?.reduce((bytes, { headSent, unsentBytes }) => bytes + unsentBytes + (headSent ? HEAD_BYTES : 0), 0) ?? 0;
  return waiting >= getDefaultHighWaterMark(false);
}

/** The peer has ended its side, and the program has seen it: ours ends too, unless the server leaves it open. */
export function followPeer(connection: Connection): void {
  const { current, queue, server: { server } } = connection;
  if (connection.closed || connection.destroying) return;
  const last = queue?.at(-1) ?? current;
  if (server.httpAllowHalfOpen === true && last !== null) {
    last.response._last = true;
    return;
  }
  connection.existingSocket?.end();
  connection.shutdown(true);
}

/** Nothing more will come: 'end', behind what is still to be read. */
export function endReadable(socket: LaneSocket): void {
  if (socket._readableState.ended || socket.destroyed) return;
  socket.push(null);
  if (socket.readableLength === 0) socket.read(0);
}

/** Whether the reader of a body has taken something of what has come since this was asked the last time. */
function isBeingRead(exchange: Exchange): boolean {
  const { touched, request, unreadBytes } = exchange;
  if (!touched || request.readableEnded || request.destroyed || request.readableLength >= unreadBytes) return false;
  exchange.unreadBytes = request.readableLength;
  return true;
}

/** Event `CLOSED`. */
export function connectionLost(connection: Connection): void {
  const { existingSocket } = connection;
  if (connection.errno === 0 && !connection.destroying && finishNext(connection)) {
    // Its 'close' comes before anything that follows.
    process.nextTick(connectionLost, connection);
    return;
  }
  failAcks(connection);
  connection.transport?.destroy();
  if (existingSocket === null && !isReported(connection)) abandonExchanges(connection);
  else if (!connection.laneSocket.destroyed) endSocket(connection);
  connection.runCloseCallbacks();
  if (connection.server.provider !== undefined && connection.secure === undefined) connection.server.provider.closedEarly(connection);
  connection.resource.emitDestroy();
  connection.server.connectionGone();
}

/** An orderly end comes after everything was sent: a response that was complete is finished. */
function finishNext(connection: Connection): boolean {
  const { current } = connection;
  if (current === null || !current.ended || current.finished || current.unsendable) return false;
  finishWritten(current);
  return true;
}

/** Whether a reset of a connection whose socket the program does not hold can be seen all the same. */
function isReported(connection: Connection): boolean {
  return connection.errno !== 0 && !connection.tunnel && (connection.current !== null || isHeard(connection.server.server, 'clientError'));
}

/** The engine let the connection go by itself: an orderly end, or the peer's reset. */
function endSocket(connection: Connection): void {
  const socket = connection.laneSocket;
  if (connection.errno !== 0) {
    socket.destroy(systemError(connection.errno));
    return;
  }
  if (connection.tunnel && !socket.readableEnded) {
    socket.push(null);
    if (socket.readableLength > 0) {
      // What has arrived is still to be read; the stream destroys itself after its end.
      socket.once('end', () => socket.destroy());
      return;
    }
  }
  if (!connection.ending) endReadable(socket);
  socket.destroySoon();
}

function systemError(errno: number): Error {
  const name = getSystemErrorName(-Math.abs(errno));
  return Object.assign(new Error(`read ${name}`), { errno: -Math.abs(errno), code: name, syscall: 'read' });
}

/** Writes whose bytes were lost with the connection. */
function failAcks(connection: Connection): void {
  const waiting = connection.rawWrites;
  connection.rawWrites = null;
  if (waiting === null || waiting.length === 0) return;
  const error = Object.assign(new Error('write ECONNRESET'), { code: 'ECONNRESET', errno: -104, syscall: 'write' });
  for (const { acknowledged } of waiting) acknowledged?.(connection.errno === 0 ? null : error);
}

/** Requests and responses that were in flight: 'aborted', 'error', 'close', in Node's order. */
export function abandonExchanges(connection: Connection): void {
  abortIncoming(connection);
  abandonCurrent(connection);
}

/** All but the response whose turn it was. */
export function abortIncoming(connection: Connection): void {
  const { current, queue } = connection;
  connection.queue = null;
  connection.receiving = null;
  connection.interrupted = null;
  if (current === null) return;
  const waiting = queue ?? [];
  for (const exchange of [current, ...waiting]) {
    exchange.abortController?.abort();
    exchange.request.destroy(connectionReset());
  }
  for (const exchange of waiting) exchange.response.destroy(connectionReset());
}

/** The response whose turn it was. */
export function abandonCurrent(connection: Connection): void {
  const { current } = connection;
  connection.current = null;
  if (current === null) return;
  connection.abandoned = current;
  emitClose(current.response);
}
