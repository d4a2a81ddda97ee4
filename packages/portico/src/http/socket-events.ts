/** What the server itself listens to on its connections' sockets, as in Node: 'error' and 'timeout'. */

import { kConnection, type LaneSocket } from '../lane/socket';
import { answerBadRequest } from './client-error';
import { stopsNode } from './body';
import type { Exchange } from './exchange';
import { abandonCurrent, abortIncoming, followPeer } from './lifecycle';

/** Stands for Node's parser among the listeners of 'data', which programs count. The engine's parser has read it. */
export function httpData(): void { /* Nothing is left to do. */ }

/** An error of the socket, while it speaks HTTP, is the client's. */
export function socketError(this: LaneSocket, error: Error): void {
  answerBadRequest(this[kConnection], error);
}

/** The peer has ended its side: in the middle of a request that is an error of its own. */
export function socketEnded(this: LaneSocket): void {
  const connection = this[kConnection];
  const { brokenOff } = connection;
  connection.brokenOff = undefined;
  if (brokenOff === undefined) {
    followPeer(connection);
  } else {
    connection.refused = true;
    answerBadRequest(connection, brokenOff);
  }
}

/** The socket has closed: what was in flight on it ends, before listeners of the program's hear of it. */
export function abandonRequests(this: Partial<LaneSocket>): void {
  // Programs have been seen to call listeners with another `this`.
  const connection = this[kConnection];
  if (connection === undefined) return;
  this.parser?.free();
  this.parser = null;
  abortIncoming(connection);
}

/** As above, for the response whose turn it was. */
export function abandonResponse(this: Partial<LaneSocket>): void {
  const connection = this[kConnection];
  if (connection !== undefined) abandonCurrent(connection);
}

/** No listener heard of the timeout: the connection is over. */
export function onSocketTimeout(this: LaneSocket): void {
  const connection = this[kConnection];
  const { server } = connection.server;
  const exchange = connection.current ?? connection.receiving;
  const request = exchange?.request;
  // Of a body that nobody reads Node does not have the end yet, where we may.
  const byRequest = request !== undefined && (!request.complete || stopsNode(exchange as Exchange)) && request.emit('timeout', this);
  const byResponse = connection.current !== null && connection.current.response.emit('timeout', this);
  const byServer = server.emit('timeout', this);
  if (!byRequest && !byResponse && !byServer) this.destroy();
}

/**
 * The socket belongs to whoever took the upgrade: the server's listeners go. An answer to an earlier request that is still due
 * keeps the one by which it ends with the socket, as in Node.
 */
export function releaseFromHttp(socket: LaneSocket): void {
  socket.removeListener('data', httpData);
  socket.removeListener('timeout', onSocketTimeout);
  socket.removeListener('error', socketError);
  socket.removeListener('end', socketEnded);
  socket.removeListener('close', abandonRequests);
  if (socket[kConnection].current === null) socket.removeListener('close', abandonResponse);
  socket.parser = null;
}
