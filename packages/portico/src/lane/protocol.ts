/**
 * What the lane asks of a protocol's JavaScript side: HTTP/1 in `http/`, and whatever stands beside it.
 *
 * A server says what its connections speak (`AttachedServer.beginProtocol`). The lane begins a `Protocol` with each
 * connection, hands it the connection's events, and asks it what the socket needs to know. What requests and answers are,
 * the lane does not know.
 *
 * A protocol is a class, and all of its state for a connection is in the one object: the events of requests are then
 * calls of methods that V8 can inline.
 */

import type { Connection } from './connection';
import type { LaneSocket } from './socket';

/** Begins what a server speaks on a connection that has just been opened. */
export type BeginProtocol = (connection: Connection) => Protocol;

/**
 * One connection's requests and answers. `beginRequest` and `receiveBody` enter the connection's asynchronous scope by
 * themselves; all other events are handed over in it.
 */
export interface Protocol {
  /** Event `REQUEST`, at word `at` of the lane's slab. */
  beginRequest(at: number): void;
  /** Event `BODY`: bytes of the body of request `sequence`, perhaps its last. Runs ticks before anything that follows. */
  receiveBody(sequence: number, chunk: Buffer, isLast: boolean): void;
  /** Event `END`, at word `at`: the end of a body, with trailers perhaps. */
  endBody(at: number): void;
  /**
   * Event `RAW` of a connection that was taken over behind a body: all is told that had been received by then.
   * `bytes`: what follows the body, if it has come.
   */
  receivedSoFar(bytes: Buffer): void;
  /** Event `FLUSHED`: so many records of the connection, oldest first, have been handed to the kernel. */
  flushed(count: number, queuedBytes: number): void;
  /** The same of a host, which names the request. 0: of the tunnel. */
  flushedOf(sequence: number, count: number, queuedBytes: number): void;
  /** Event `RESET`: the peer has given up request `sequence`, for what `code` says, and the connection goes on. */
  reset(sequence: number, code: number): void;
  /** Event `SESSION`, at word `at`: what the peer says beside its requests. Not of every protocol. */
  sessionEvent?(at: number): void;
  /** Event `CLIENT_ERROR`, at word `at`: the peer broke the protocol. */
  clientError(at: number): void;
  /** Event `TIMEOUT`: no complete request in time. */
  requestTimedOut(): void;
  /** Event `PEER_END`: the peer has ended its side, of a connection that is no tunnel. */
  peerEnded(): void;
  /** The same where the engine reads no requests, and has not for a time. */
  unreadEnd(): void;
  /** Event `CLOSED` after an orderly end: the next answer that was complete has been sent. False: there is none. */
  finishNext(): boolean;
  /** Event `CLOSED`: what was in flight ends. Not called where there is a socket, whose 'close' tells of it. */
  abandon(): void;

  /** The connection's socket has been made: it gets the server's listeners. */
  attachSocket(socket: LaneSocket): void;
  /** `socket._httpMessage`. */
  readonly message: unknown;
  /** An answer's turn has come. */
  readonly isAnswering: boolean;
  /** The answer whose turn it is has not ended. */
  readonly isAwaitingEnd: boolean;
  /** A body is arriving. */
  readonly isReceiving: boolean;
  /** Hands over what the answer whose turn it is has kept back. */
  flush(): void;
  /** As far as Node would have by now, because bytes follow that go past the answer. */
  flushWritten(): void;
  /** The program has resumed the socket. */
  socketResumed(): void;
  /** Nothing more is told of a request that is arriving. Whether Node would not have read all of it. */
  dropUnread(): boolean;
  /**
   * Bytes that the program writes to the socket of a shared connection. Throws `ERR_PORTICO_SHARED_CONNECTION` unless
   * they are an answer to the request whose turn it is.
   */
  writeAnswer(bytes: Uint8Array): void;
  /** Ends what was written so, and the connection behind it. False: nothing was. Throws for half a head. */
  endAnswer(): boolean;
}
