/** Protocol errors: 'clientError', and Node's answers where there is no listener. */

import { EventClientError } from '../generated/layout';
import { PARSE_ERROR_CODES, PARSE_ERROR_REASONS } from '../generated/tables';
import type { Connection } from '../lane/connection';
import { WRITTEN_AT_ONCE_BYTES } from '../lane/raw-writes';
import { endReadable } from '../lane/connection-end';
import type { LaneSocket } from '../lane/socket';
import { requestTimeout } from './errors';
import { peerEnded } from './lifecycle';
import type { Pipeline } from './pipeline';
import { pipelineOf } from './socket-pipeline';
import { STATUS_CODES } from 'node:http';

interface ParseError extends Error {
  code?: string;
  reason?: string;
  bytesParsed?: number;
  rawPacket?: Buffer;
}

/** The peer's end in the middle of a request. There is no packet that it was in: the socket's 'end' tells of it. */
const BROKEN_OFF = 'HPE_INVALID_EOF_STATE';

/** Field lines of Node's own answers. */
const FIELDS = 'Connection: close\r\n';

/** Event `CLIENT_ERROR`. */
export function clientError(pipeline: Pipeline, at: number): void {
  const { connection } = pipeline;
  if (connection.destroying) return;
  const { words, bytes } = connection.lane.slab;
  const number = words[at + EventClientError.CODE];
  const reason = PARSE_ERROR_REASONS[number];
  if (pipeline.upgrading !== null && pipeline.upgrading.stream !== null) {
    breakUpgrade(connection, PARSE_ERROR_CODES[number] === BROKEN_OFF);
    return;
  }
  if (PARSE_ERROR_CODES[number] === BROKEN_OFF) {
    pipeline.bodyHeard = true;
    if (pipeline.readsNoEnd) return peerEnded(pipeline);
    pipeline.brokenOff = Object.assign(new Error('Parse Error'), { bytesParsed: 0, code: BROKEN_OFF, reason });
    endReadable(connection.laneSocket);
    return;
  }
  connection.refused = true;
  const error = new Error(`Parse Error: ${reason}`) as ParseError;
  error.bytesParsed = words[at + EventClientError.PARSED_BYTES];
  error.code = PARSE_ERROR_CODES[number];
  error.reason = reason;
  const start = (at << 2) + words[at + EventClientError.PACKET_OFFSET];
  error.rawPacket = Buffer.from(bytes.subarray(start, start + words[at + EventClientError.PACKET_LENGTH]));
  if (connection.tapped) connection.show(error.rawPacket);
  answerBadRequest(pipeline, error);
}

/**
 * The body never ends behind which another protocol begins. Its program has the connection and hears of its end, not of
 * an error: Node's parser knows of none there, and few programs listen for one.
 */
function breakUpgrade(connection: Connection, isEnd: boolean): void {
  if (isEnd) endReadable(connection.laneSocket);
  else connection.destroy();
}

/**
 * More came on a connection of which a handler has thrown: where that is caught, Node's parser goes on with nothing and
 * says so. `bytes`: what came, `isAnotherRead`: surely not with the same read, whose rest is dropped. A host knows of no
 * error of the client: there, the refusal goes out as the answer to the request whose turn it is.
 */
export function callbackFailed(pipeline: Pipeline, bytes: Buffer, isAnotherRead = false): void {
  const { connection } = pipeline;
  if (connection.destroying || connection.lane.resumed && !isAnotherRead) return;
  pipeline.hasFailed = true;
  const code = pipeline.failedIn as string;
  const reason = code === 'HPE_JS_EXCEPTION' ? 'JS Exception' : 'User callback error';
  const error = new Error(`Parse Error: ${reason}`) as ParseError;
  Object.assign(error, { bytesParsed: bytes.byteLength, code, reason, rawPacket: bytes });
  connection.resource.runInAsyncScope(answerBadRequest, undefined, pipeline, error);
}

/**
 * Behind a host, a listener of 'clientError' may write to a connection of which a handler has thrown though no answer can be
 * given there any more. Its bytes are dropped then, and the connection ends as it does where no program listens. False: what
 * it writes may be an answer.
 */
export function refuseBehindFailure({ hasFailed, current, connection }: Pipeline): boolean {
  if (!hasFailed) return false;
  if (current === null || current.ended) connection.refuse();
  else if (current.raw === null && (current.headSent || current.pending !== null)) connection.destroy();
  else return false;
  return true;
}

/** No complete request in time. */
export function requestTimedOut(pipeline: Pipeline): void {
  pipeline.connection.refused = true;
  answerBadRequest(pipeline, requestTimeout());
}

/** An error of the socket, while it speaks HTTP, is the client's. */
export function socketError(this: LaneSocket, error: Error): void {
  answerBadRequest(pipelineOf(this), error);
}

/** Tells 'clientError'; without a listener answers as Node does and closes. */
export function answerBadRequest(pipeline: Pipeline, error: ParseError): void {
  const { connection } = pipeline;
  const socket = connection.laneSocket;
  // Further errors are told to no listener.
  socket.removeListener('error', socketError);
  if (socket.listenerCount('error') === 0) socket.on('error', ignore);
  if (connection.server.server.emit('clientError', error, socket)) return;
  if (socket.writable && !isAnswering(pipeline)) refuse(pipeline, statusOf(error.code));
  socket.destroy(error);
}

/**
 * An answer to a host that only waits to be acknowledged has gone: its client may have had it long ago. So has one that
 * was ended in an earlier batch of events and surely fits into the socket's buffer: Node's has finished by then.
 */
function isAnswering({ current, connection, connection: { lane } }: Pipeline): boolean {
  // A head that waits for the turn's end, to leave together with what else is written, has been sent in Node.
  if (current === null || !current.headSent && current.pending === null) return false;
  const { ended, endTurn, unsentBytes, pendingBytes } = current;
  const hasGone = connection.isShared || endTurn !== lane.turn && unsentBytes + pendingBytes <= WRITTEN_AT_ONCE_BYTES;
  return !(ended && hasGone);
}

function ignore(): void { /* The program has been told by 'clientError', or does not want to know. */ }

/** Node's own answer. */
function refuse(pipeline: Pipeline, status: number): void {
  const reason = STATUS_CODES[status] as string;
  const { connection } = pipeline;
  if (connection.isShared) return pipeline.refuseCurrent(status, reason, FIELDS);
  connection.laneSocket.write(`HTTP/1.1 ${status} ${reason}\r\n${FIELDS}\r\n`);
  connection.refusing = true;
}

function statusOf(code: string | undefined): number {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW': return 431;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW': return 413;
    case 'ERR_HTTP_REQUEST_TIMEOUT': return 408;
    default: return 400;
  }
}
