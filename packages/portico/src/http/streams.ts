/**
 * HTTP/2 as the lane sees it, under the API of `node:http`: each stream of a connection is a request with a connection of
 * its own (`lane/stream.ts`), and goes the way of a request that is alone on its HTTP/1 connection.
 */

import type { Connection } from '../lane/connection';
import { RESET_CODE_CANCEL, RESET_CODE_NO_ERROR, EventEnd, EventRequest } from '../generated/layout';
import { sharedConnection } from '../lane/errors';
import type { Protocol } from '../lane/protocol';
import type { LaneSocket } from '../lane/socket';
import { Stream, type StreamOwner, type StreamProtocol } from '../lane/stream';
import { drainTicks } from '../lane/ticks';
import { isHeard } from '../node/observation';
import { receiveChunk, receiveEnd } from './body-events';
import { receiveRequest } from './dispatch';
import type { Exchange } from './exchange';
import { Http1 } from './http1';
import { finishNext, flushedOf } from './lifecycle';
import { flushPending, flushWritten } from './response-write';
import { releaseFromHttp } from './socket-events';

/** Listeners of a server's connections that are its own. */
const OWN_LISTENERS = 1;

/** The one request of a stream. */
class StreamRequest extends Http1 implements StreamProtocol {
  override beginRequest(at: number): void { receiveRequest(this, at); }

  override dequeue(exchange: Exchange): Exchange | null {
    const next = super.dequeue(exchange);
    this.#settle();
    return next;
  }

  override bodyEnds(exchange: Exchange): void {
    super.bodyEnds(exchange);
    this.#settle();
  }

  /** Both sides may have ended. */
  #settle(): void {
    const { connection, current, receiving, requests } = this;
    if (requests > 0 && current === null && receiving === null && !connection.tunnel) (connection as Stream).finish();
  }

  giveUp(): void {
    const { current, receiving, connection: { token, lane: { writer } } } = this;
    if (current !== null) {
      const isSent = current.ended && (current.acks === null || current.acks.length === 0);
      writer.reset(token, current.sequence, isSent ? RESET_CODE_NO_ERROR : RESET_CODE_CANCEL);
    } else if (receiving !== null) {
      // The answer goes out in full.
      writer.discard(token, receiving.sequence);
    }
  }
}

function beginStream(connection: Connection): Protocol {
  return new StreamRequest(connection);
}

/** All streams of a connection. */
class Streams implements Protocol, StreamOwner {
  readonly #connection: Connection;
  readonly #streams = new Map<number, Stream>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  forget(sequence: number): void {
    this.#streams.delete(sequence);
  }

  beginRequest(at: number): void {
    const connection = this.#connection;
    if (connection.closed || connection.destroying) return;
    const sequence = connection.lane.slab.words[at + EventRequest.SEQUENCE];
    const stream = new Stream(connection, sequence, this, beginStream);
    this.#streams.set(sequence, stream);
    announce(stream);
    stream.protocol.beginRequest(at);
  }

  receiveBody(sequence: number, chunk: Buffer, isLast: boolean): void {
    const stream = this.#streams.get(sequence);
    if (stream === undefined) return;
    if (stream.tunnel) {
      stream.resource.runInAsyncScope(receiveTunnel, undefined, stream, chunk, isLast);
      drainTicks();
      return;
    }
    stream.noteActivity();
    receiveChunk(requestOf(stream), sequence, chunk, isLast);
  }

  endBody(at: number): void {
    const stream = this.#streams.get(this.#connection.lane.slab.words[at + EventEnd.SEQUENCE]);
    stream?.resource.runInAsyncScope(receiveStreamEnd, undefined, stream, at);
  }

  /** What is still queued is told of the connection: a stream goes by what it has written itself. */
  flushedOf(sequence: number, count: number): void {
    const stream = this.#streams.get(sequence);
    stream?.resource.runInAsyncScope(streamFlushed, undefined, stream, count);
  }

  reset(sequence: number): void {
    const stream = this.#streams.get(sequence);
    stream?.resource.runInAsyncScope(loseStream, undefined, stream);
  }

  abandon(): void {
    for (const stream of [...this.#streams.values()]) stream.resource.runInAsyncScope(loseStream, undefined, stream);
  }

  finishNext(): boolean {
    let found = false;
    for (const stream of [...this.#streams.values()]) if (finishNext(requestOf(stream))) found = true;
    return found;
  }

  /** The socket of the connection itself, which programs have from 'connection', in the clear. */
  attachSocket(socket: LaneSocket): void {
    socket._readableState.flowing = true;
    socket.on('timeout', () => this.#timedOut(socket));
    socket.on('error', (error) => void this.#connection.server.server.emit('clientError', error, socket));
    socket.on('close', () => this.abandon());
  }

  #timedOut(socket: LaneSocket): void {
    const streams = [...this.#streams.values()];
    for (const { laneSocket } of streams) laneSocket.emit('timeout');
    if (streams.length === 0 && !this.#connection.server.server.emit('timeout', socket)) socket.destroy();
  }

  get isAnswering(): boolean { return this.#streams.size > 0; }
  readonly isAwaitingEnd = false;
  readonly isReceiving = false;

  /** Of the connection's own socket: an answer that is under way. Programs that end idle connections ask for it. */
  get message(): unknown {
    for (const stream of this.#streams.values()) {
      const { message } = stream.protocol;
      if (message !== null) return message;
    }
    return null;
  }

  flush(): void {
    this.#eachAnswer(flushPending);
  }

  flushWritten(): void {
    this.#eachAnswer(flushWritten);
  }

  #eachAnswer(action: (exchange: Exchange) => void): void {
    for (const stream of this.#streams.values()) {
      const { current } = requestOf(stream);
      if (current !== null) action(current);
    }
  }

  writeAnswer(): never {
    throw sharedConnection('its requests have sockets of their own, which answers are written to');
  }

  // What a connection of streams is never told, or asked.
  receivedSoFar(): void { /* Streams are taken over, not the connection. */ }
  flushed(): void { /* Named. */ }
  clientError(): void { /* The engine ends the connection by itself. */ }
  requestTimedOut(): void { /* The engine resets the stream. */ }
  peerEnded(): void { /* The connection closes. */ }
  unreadEnd(): void { /* All is read. */ }
  socketResumed(): void { /* Bodies are stopped each by itself. */ }
  dropUnread(): boolean { return false; }
  endAnswer(): boolean { return false; }
}

/** Programs that keep what they know of a connection with its socket find the sockets of requests announced to them. */
function announce(stream: Stream): void {
  const { server, provider } = stream.server;
  const event = provider === undefined ? 'connection' : 'secureConnection';
  if (isHeard(server, event, OWN_LISTENERS)) stream.resource.runInAsyncScope(() => void server.emit(event, stream.socket));
}

function requestOf(stream: Stream): StreamRequest {
  const request = stream.protocol as StreamRequest;
  // A handler that threw is nothing that the rest of the stream's records could be wrong about.
  request.failedIn = null;
  return request;
}

function receiveTunnel(stream: Stream, bytes: Buffer, isLast: boolean): void {
  if (bytes.byteLength > 0) stream.receive(bytes);
  if (isLast) stream.receiveEnd();
}

function receiveStreamEnd(stream: Stream, at: number): void {
  if (stream.tunnel) stream.receiveEnd();
  else receiveEnd(requestOf(stream), at);
}

function streamFlushed(stream: Stream, count: number): void {
  stream.noteActivity();
  if (!stream.tunnel) return flushedOf(requestOf(stream), stream.sequence, count, 0);
  for (let left = count; left > 0; left--) stream.written();
}

function loseStream(stream: Stream): void {
  stream.lose();
}

/** Has a connection whose first request is one of HTTP/2 speak that. */
export function beginStreams(connection: Connection): Protocol {
  const { existingSocket } = connection;
  if (existingSocket !== null) releaseFromHttp(existingSocket);
  const streams = new Streams(connection);
  connection.speak(streams);
  if (existingSocket !== null) streams.attachSocket(existingSocket);
  return streams;
}
