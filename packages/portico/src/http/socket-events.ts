/** What the server itself listens to on its connections' sockets, as in Node: 'error' and 'timeout'. */

import { kConnection, type LaneSocket } from '../lane/socket';
import { answerBadRequest } from './client-error';

/** An error of the socket, while it speaks HTTP, is the client's. */
export function socketError(this: LaneSocket, error: Error): void {
  answerBadRequest(this[kConnection], error);
}

/** Nobody heard of the timeout: the connection is over. */
export function onSocketTimeout(this: LaneSocket): void {
  const connection = this[kConnection];
  const { server } = connection.server;
  const exchange = connection.current ?? connection.receiving;
  const request = exchange?.request;
  const byRequest = request !== undefined && !request.complete && request.emit('timeout', this);
  const byResponse = connection.current !== null && connection.current.response.emit('timeout', this);
  const byServer = server.emit('timeout', this);
  if (!byRequest && !byResponse && !byServer) this.destroy();
}

/** The socket belongs to whoever took the upgrade: the server's listeners go, and the stream has not begun to flow. */
export function releaseFromHttp(socket: LaneSocket): void {
  socket.removeListener('timeout', onSocketTimeout);
  socket.removeListener('error', socketError);
  socket.parser = null;
  (socket as unknown as { readableFlowing: boolean | null }).readableFlowing = null;
}
