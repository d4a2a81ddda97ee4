/** What the server itself listens to on its connections' sockets, as in Node: 'error' and 'timeout'. */

import { EventEmitter } from 'node:events';
import { kConnection, type LaneSocket } from '../lane/socket';
import { answerBadRequest, socketError } from './client-error';
import { stopsNode } from './body';
import type { Exchange } from './exchange';
import { HTTPParser } from './http-parser';
import { abandonCurrent, abortIncoming, followPeer } from './lifecycle';
import type { Pipeline } from './pipeline';
import { pipelineOf } from './socket-pipeline';

/** Gives a socket that has been made the listeners that Node's server puts on each. */
export function attachSocket(pipeline: Pipeline, socket: LaneSocket): void {
  socket.parser = new HTTPParser(socket, pipeline);
  // Not by the socket's own method: the bytes don't come by the stream, which flows all the same, as Node's does.
  EventEmitter.prototype.on.call(socket, 'data', httpData);
  socket._readableState.flowing = true;
  socket.on('timeout', onSocketTimeout);
  socket.on('error', socketError);
  socket.on('end', socketEnded);
  socket.on('close', abandonRequests);
  if (pipeline.requests > 0) watchResponse(socket);
}

/** The response in its turn ends with the socket. From the first request on: what listened before hears of it before, as in Node. */
export function watchResponse(socket: LaneSocket): void {
  socket.on('close', abandonResponse);
}

/** The same for the next response, behind what listens by then: the one before is over, and does not end with the socket. */
export function watchNextResponse({ current, connection: { laneSocket } }: Pipeline): void {
  laneSocket.removeListener('close', abandonResponse);
  if (current !== null) watchResponse(laneSocket);
}

/** Stands for Node's parser among the listeners of 'data', which programs count. The engine's parser has read it. */
export function httpData(): void { /* Nothing is left to do. */ }

/** The peer has ended its side: in the middle of a request that is an error of its own. */
export function socketEnded(this: LaneSocket): void {
  const pipeline = pipelineOf(this);
  const { brokenOff } = pipeline;
  pipeline.brokenOff = undefined;
  if (brokenOff === undefined) {
    followPeer(pipeline);
  } else {
    pipeline.connection.refused = true;
    answerBadRequest(pipeline, brokenOff);
  }
}

/** The socket has closed: what was in flight on it ends, before listeners of the program's hear of it. */
export function abandonRequests(this: Partial<LaneSocket>): void {
  // Programs have been seen to call listeners with another `this`.
  if (this[kConnection] === undefined) return;
  this.parser?.free();
  this.parser = null;
  abortIncoming(pipelineOf(this));
}

/** As above, for the response whose turn it was. */
export function abandonResponse(this: Partial<LaneSocket>): void {
  if (this[kConnection] !== undefined) abandonCurrent(pipelineOf(this));
}

/** No listener heard of the timeout: the connection is over. */
export function onSocketTimeout(this: LaneSocket): void {
  const { current, receiving, connection: { server: { server } } } = pipelineOf(this);
  const exchange = current ?? receiving;
  const request = exchange?.request;
  // Of a body that nobody reads Node does not have the end yet, where we may.
  const byRequest = request !== undefined && (!request.complete || stopsNode(exchange as Exchange)) && request.emit('timeout', this);
  const byResponse = current !== null && current.response.emit('timeout', this);
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
  if (pipelineOf(socket).current === null) socket.removeListener('close', abandonResponse);
  socket.parser = null;
}
