/**
 * From a `REQUEST` record to the server's events, with the decisions that Node makes on the way: upgrade, missing Host,
 * too many requests on a connection, `Expect`.
 */

import diagnostics = require('node:diagnostics_channel');
import * as layout from '../generated/layout';
import { METHODS } from '../generated/tables';
import { complete } from './body';
import { callbackFailed } from './client-error';
import { Exchange } from './exchange';
import { requestQueued } from './lifecycle';
import { makeRequest, type Request } from './incoming-message';
import type { Pipeline } from './pipeline';
import { headBytes, minorVersion, requestField } from './request-fields';
import { makeResponse, type Response } from './server-response';
import { watchResponse } from './socket-events';
import { beginTurn } from './socket-turns';
import { isReadUnasked } from './unread-body';
import { upgrade } from './upgrade';

const requestStart = diagnostics.channel('http.server.request.start');

const { REQUEST_FLAG_COMPLETE, REQUEST_FLAG_UPGRADE, REQUEST_FLAG_HAS_HOST } = layout;
/** Flags that make a request anything but ordinary. */
const SPECIAL = layout.REQUEST_FLAG_UPGRADE | layout.REQUEST_FLAG_EXPECT_CONTINUE | layout.REQUEST_FLAG_EXPECT_OTHER
  | layout.REQUEST_FLAG_OVER_LIMIT | layout.REQUEST_FLAG_LAST_ALLOWED;

/** Handles the `REQUEST` at word `at` of the lane's slab. */
export function receiveRequest(pipeline: Pipeline, at: number): void {
  const { connection, connection: { lane, lane: { slab, slab: { words } } } } = pipeline;
  pipeline.heardWake = lane.wake;
  const method = METHODS[words[at + layout.EventRequest.METHOD] & layout.EventRequest.METHOD_MASK];
  const flags = words[at + layout.RecordHead.KIND] >>> layout.RecordHead.FLAGS_SHIFT;
  const exchange = new Exchange(pipeline, slab, at, words[at + layout.EventRequest.SEQUENCE], flags, method);
  if (connection.tapped) connection.show(headBytes(exchange));
  if (pipeline.failedIn !== null) return callbackFailed(pipeline, headBytes(exchange));
  pipeline.failedIn = 'HPE_CB_HEADERS_COMPLETE';
  connection.resource.runInAsyncScope(handle, undefined, exchange);
  pipeline.failedIn = null;
}

function handle(exchange: Exchange): void {
  const { pipeline, connection, flags } = exchange;
  if (connection.closed || connection.destroying) return;
  const request = exchange.request = makeRequest(exchange);
  if ((flags & REQUEST_FLAG_UPGRADE) !== 0 && upgrade(exchange, request)) return;
  if (pipeline.requests === 0 && connection.hasSocket) watchResponse(connection.laneSocket);
  pipeline.enqueue(exchange);
  if (pipeline.queue !== null) requestQueued(pipeline);
  if ((flags & REQUEST_FLAG_COMPLETE) === 0) pipeline.bodyBegins(exchange);
  const response = exchange.response = makeResponse(exchange);
  // Of the class, or of the constructor of one that the program gave: all others come later.
  if (exchange.isCurrent) beginTurn(exchange);
  isReadUnasked(exchange);
  const { server } = connection.server;
  if (requestStart.hasSubscribers) {
    requestStart.publish({ request, response, socket: connection.socket, server });
  }
  if (connection.server.optimizeEmptyRequests && hasNoBody(exchange)) request._dumpAndCloseReadable();
  if ((flags & SPECIAL) !== 0 || (flags & REQUEST_FLAG_HAS_HOST) === 0) special(exchange, request, response);
  else server.emit('request', request as never, response as never);
  if ((flags & REQUEST_FLAG_COMPLETE) !== 0) complete(exchange);
}

/** Node's `optimizeEmptyRequests` asks for the fields, not for what they say. */
function hasNoBody(exchange: Exchange): boolean {
  if (exchange.connection.isStream) return (exchange.flags & REQUEST_FLAG_COMPLETE) !== 0;
  return (exchange.flags & (layout.REQUEST_FLAG_CHUNKED)) === 0 && requestField(exchange, 'content-length') === undefined;
}

/** Requests that the server answers itself, or that have events of their own. HTTP/1.0 has none of them. */
function special(exchange: Exchange, request: Request, response: Response): void {
  const { flags, connection } = exchange;
  const { server } = connection.server;
  if (minorVersion(exchange) === 1) {
    if ((flags & REQUEST_FLAG_HAS_HOST) === 0 && server.requireHostHeader === true) {
      response.writeHead(400, ['Connection', 'close']);
      response.end();
      return;
    }
    if ((flags & (layout.REQUEST_FLAG_OVER_LIMIT | layout.REQUEST_FLAG_LAST_ALLOWED)) !== 0) {
      response.maxRequestsOnConnectionReached = true;
    }
    if ((flags & layout.REQUEST_FLAG_OVER_LIMIT) !== 0) {
      server.emit('dropRequest', request as never, connection.socket);
      response.writeHead(503);
      response.end();
      return;
    }
    if (expectation(exchange, request, response)) return;
  } else if (connection.isStream && expectation(exchange, request, response)) {
    return;
  }
  server.emit('request', request as never, response as never);
}

/** `Expect`: true if the request has been given to a listener. */
function expectation(exchange: Exchange, request: Request, response: Response): boolean {
  const { flags, connection: { server: { server } } } = exchange;
  if ((flags & layout.REQUEST_FLAG_EXPECT_CONTINUE) !== 0) {
    response._expect_continue = true;
    if (server.listenerCount('checkContinue') > 0) {
      server.emit('checkContinue', request as never, response as never);
    } else {
      response.writeContinue();
      server.emit('request', request as never, response as never);
    }
    return true;
  }
  if ((flags & layout.REQUEST_FLAG_EXPECT_OTHER) === 0) return false;
  if (server.listenerCount('checkExpectation') > 0) {
    server.emit('checkExpectation', request as never, response as never);
  } else {
    response.writeHead(417);
    response.end();
  }
  return true;
}
