/** HTTP/1 as the lane sees it: a connection's events, and what its socket asks. */

import { EventRequest } from '../generated/layout';
import type { Connection } from '../lane/connection';
import { sharedConnection } from '../lane/errors';
import type { Protocol } from '../lane/protocol';
import type { LaneSocket } from '../lane/socket';
import { socketResumed } from './body';
import { receiveChunk, receiveEnd } from './body-events';
import { clientError, refuseBehindFailure, requestTimedOut } from './client-error';
import { receiveRequest } from './dispatch';
import { abandonExchanges, finishNext, flushed, flushedOf, peerEnded, unreadEnd } from './lifecycle';
import { Pipeline } from './pipeline';
import { RawAnswer } from './raw-answer';
import { flushPending, flushWritten } from './response-write';
import { attachSocket } from './socket-events';
import { receivedSoFar } from './upgrade';

/** The protocol of a connection whose requests come one behind the other. */
export class Http1 extends Pipeline implements Protocol {
  beginRequest(at: number): void {
    if (this.requests === 0 && isOfStreams(this.connection, at)) this.connection.server.beginStreams(this.connection).beginRequest(at);
    else receiveRequest(this, at);
  }


  receiveBody(sequence: number, chunk: Buffer, isLast: boolean): void { receiveChunk(this, sequence, chunk, isLast); }
  endBody(at: number): void { receiveEnd(this, at); }
  receivedSoFar(bytes: Buffer): void { receivedSoFar(this, bytes); }
  flushed(count: number, queuedBytes: number): void { flushed(this, count, queuedBytes); }
  flushedOf(sequence: number, count: number, queuedBytes: number): void { flushedOf(this, sequence, count, queuedBytes); }
  reset(): void { /* A peer ends the connection, with all its requests. */ }
  clientError(at: number): void { clientError(this, at); }
  requestTimedOut(): void { requestTimedOut(this); }
  peerEnded(): void { peerEnded(this); }
  unreadEnd(): void { unreadEnd(this); }
  finishNext(): boolean { return finishNext(this); }
  abandon(): void { abandonExchanges(this); }

  attachSocket(socket: LaneSocket): void { attachSocket(this, socket); }
  get message(): unknown { return this.current?.response ?? null; }
  get isAnswering(): boolean { return this.current !== null; }
  get isAwaitingEnd(): boolean { return this.current?.ended === false; }
  get isReceiving(): boolean { return this.receiving !== null; }
  flush(): void { if (this.current !== null) flushPending(this.current); }
  flushWritten(): void { if (this.current !== null) flushWritten(this.current); }
  socketResumed(): void { socketResumed(this); }

  writeAnswer(bytes: Uint8Array): void {
    if (refuseBehindFailure(this)) return;
    if (this.current === null) throw sharedConnection('no request of this server waits for its answer there');
    RawAnswer.of(this.current).write(bytes);
  }

  endAnswer(): boolean {
    return this.current?.raw?.end() ?? false;
  }
}

/** Whether a request has come in a stream: the first one tells what the connection speaks. */
function isOfStreams({ lane: { slab: { words } } }: Connection, at: number): boolean {
  return (words[at + EventRequest.MAJOR_VERSION] >>> EventRequest.MAJOR_VERSION_SHIFT & EventRequest.MAJOR_VERSION_MASK) > 1;
}

/** Begins HTTP/1 on a connection. */
export function beginHttp1(connection: Connection): Protocol {
  return new Http1(connection);
}
