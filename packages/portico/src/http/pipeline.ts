/**
 * The requests of one HTTP/1 connection, in their order (RFC 9112, 9.3.2), and what is known of the one that is arriving.
 *
 * Answers go out in the order of their requests: the first is the current one, and has the socket; the others wait.
 */

import * as layout from '../generated/layout';
import type { Connection } from '../lane/connection';
import type { Exchange } from './exchange';
import { headBytes, requestField } from './request-fields';
import { watchNextResponse } from './socket-events';
import type { Upgrading } from './upgrade';

/** What Node reads of a connection at once. */
const READ_BYTES = 64 * 1024;

/** State of a connection that speaks HTTP/1. */
export class Pipeline {
  readonly connection: Connection;
  /** The request whose answer goes out next; later ones wait in `queue`. */
  current: Exchange | null = null;
  queue: Exchange[] | null = null;
  /** The one whose turn it was when the connection went. */
  abandoned: Exchange | null = null;
  /** The request whose body is arriving. */
  receiving: Exchange | null = null;
  /** The last part of that body has come, or the client's end within it: Node would have read all that there is. */
  bodyHeard = false;
  /** Requests whose bodies go on when that of an earlier one, which another process left, has come. */
  interrupted: Exchange[] | null = null;
  /** The request behind whose body the connection is a byte stream. */
  upgrading: Upgrading | null = null;
  /** The callback of Node's parser that stands for what runs now. Left behind by a handler that threw. */
  failedIn: 'HPE_CB_HEADERS_COMPLETE' | 'HPE_JS_EXCEPTION' | null = null;
  /** More came behind such a handler, and 'clientError' was told of it. */
  hasFailed = false;
  /** The peer has ended its side, and we have yet to act on it. */
  peerHasEnded = false;
  /** It did so in the middle of a request: what 'clientError' will tell when the socket has ended. */
  brokenOff: Error | undefined = undefined;
  /**
   * A body goes on that its reader has left, as an iterator that is destroyed: Node reads nothing of the connection from then on,
   * and does not hear of the peer's end.
   */
  readsNoEnd = false;
  /** The wake in which the only part of that body came that has come since. Node would have read it together with what ends it there. */
  leftInWake = 0;
  /** The request whose body keeps the peer's end from counting for a time, where that lies behind more requests. */
  awaitedReader: Exchange | null = null;
  /** The peer has ended its side behind such a body, which counts when all is answered. */
  endsBehindAnswers = false;
  /** So much waited when the last request came that Node would have stopped reading. */
  stopsReading = false;
  /** The wake of the engine in which the peer's last bytes were told. */
  heardWake = 0;
  /** Requests so far. */
  requests = 0;
  /** Acknowledgements still to come for responses that count as finished. */
  orphanedAcks = 0;
  /** The last response of a connection, which counts as finished and is not sent yet: its number, and its acknowledgements to come. */
  unsentLast: { sequence: number, acks: number } | null = null;
  /** A response has finished in this tick, and its 'close' comes in the next. */
  finishing = false;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /**
   * Puts a new request in its place, which is that of its number: behind a host, one that another process left when it
   * died comes after later ones.
   */
  enqueue(exchange: Exchange): void {
    this.requests++;
    const { current } = this;
    if (current === null) {
      this.current = exchange;
    } else if (isBefore(exchange, current)) {
      this.reassign(exchange);
    } else {
      const queue = this.queue ??= [];
      queue.splice(queue.findLastIndex((other) => isBefore(other, exchange)) + 1, 0, exchange);
    }
  }

  /** The request of this number, if it is in flight. */
  find(sequence: number): Exchange | undefined {
    if (this.current?.sequence === sequence) return this.current;
    return this.queue?.find((exchange) => exchange.sequence === sequence);
  }

  /** A request is over; the next one in order becomes the current. Returns that one, if it changed. */
  dequeue(exchange: Exchange): Exchange | null {
    if (this.current === exchange) {
      const { queue } = this;
      this.current = queue !== null && queue.length > 0 ? queue.shift() as Exchange : null;
      // A byte stream's program counts what listens to its socket.
      if (this.connection.tunnel && this.connection.hasSocket) watchNextResponse(this);
      return this.current;
    }
    const index = this.queue?.indexOf(exchange) ?? -1;
    if (index >= 0) this.queue?.splice(index, 1);
    return null;
  }

  /** Gives a request its place back that was detached. */
  reassign(exchange: Exchange): void {
    if (this.current !== null && this.current !== exchange) (this.queue ??= []).unshift(this.current);
    this.current = exchange;
  }

  /** The body of a request begins. */
  bodyBegins(exchange: Exchange): void {
    if (this.receiving !== null) (this.interrupted ??= []).push(this.receiving);
    this.receiving = exchange;
    this.bodyHeard = false;
    this.readsNoEnd = false;
  }

  /** The body of a request has come. */
  bodyEnds(exchange: Exchange): void {
    if (this.receiving !== exchange) return;
    this.receiving = this.interrupted?.pop() ?? null;
    // As in Node, whose parser has the socket read on behind a message.
    if (this.leftInWake === this.connection.lane.wake) this.readsNoEnd = false;
  }

  /** Of this request's body only the end is told from now on. Who listens to the socket's bytes gets them all the same. */
  discard(exchange: Exchange): void {
    if (this.receiving === exchange) this.connection.discardBody(exchange.sequence);
  }

  /** A part of a body has come that its reader has left: what is still to come of it is dropped. */
  passOver(exchange: Exchange): void {
    const isFirst = !this.readsNoEnd;
    this.leave(exchange);
    this.leftInWake = isFirst ? this.connection.lane.wake : 0;
  }

  /** A body goes on that its reader has left: what is still to come of it is dropped. */
  leave(exchange: Exchange): void {
    if (this.readsNoEnd || (this.queue?.at(-1) ?? this.current ?? exchange) !== exchange) return;
    this.readsNoEnd = true;
    this.discard(exchange);
  }

  /** Nothing more is told of the request that is arriving if Node would not have read all of it, if all of it had come. */
  dropUnread(): boolean {
    const { receiving } = this;
    if (receiving === null || this.bodyHeard || this.connection.tunnel) return false;
    if (headBytes(receiving).byteLength + Number(requestField(receiving, 'content-length') ?? 0) <= READ_BYTES) return false;
    this.receiving = null;
    return true;
  }

  /**
   * Answers the request whose turn it is in place of its response, if that has not begun, and ends the connection behind
   * it. Where it is no request's turn that the program knows of, the host refuses what has come. `CLOSED` follows.
   */
  refuseCurrent(status: number, reason: string, fields: string): void {
    const { current, connection, connection: { token, lane: { writer } } } = this;
    if (current === null || current.ended && current.headSent) return connection.refuse();
    if (current.headSent || current.pending !== null || current.ended) return;
    writer.respond(token, current.sequence, layout.RESPONSE_FLAG_END | connection.closeFlag, status, 0, reason, fields, undefined, 0, undefined, 0);
    if (connection.isStream) current.headSent = current.ended = true;
    else connection.destroying = true;
  }
}

/** Whether a request came to the connection before another one; their numbers are those of 32 bits. */
function isBefore(one: Exchange, other: Exchange): boolean {
  return ((one.sequence - other.sequence) | 0) < 0;
}
