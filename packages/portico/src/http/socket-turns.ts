/**
 * A response has its connection's socket while it is its turn: `assignSocket` and `detachSocket`. The turns are kept by the
 * connection; the methods are called where a program has put its own in their place, as Node calls them.
 */

import { socketAssigned } from './errors';
import { kExchange, type Exchange } from './exchange';
import { isObserved } from '../node/observation';
import type { Response } from './server-response';
import { stockResponse } from './stock';

interface HttpSocket {
  _httpMessage: unknown;
}

type Stock = Record<string, (this: unknown, ...args: unknown[]) => unknown>;
const stock = stockResponse as Stock;

/** One of the two runs for this exchange on behalf of the server, which has seen to its place. */
let turning: Exchange | null = null;

/** `response.assignSocket`. */
export function assignSocket(this: Response, socket: HttpSocket): void {
  const exchange = this[kExchange];
  if (exchange === undefined) {
    stock.assignSocket.call(this, socket);
    return;
  }
  if (exchange !== turning) {
    if (socket._httpMessage) throw socketAssigned();
    exchange.pipeline.reassign(exchange);
  }
  turning = null;
  this.emit('socket', socket);
}

/** `response.detachSocket`. */
export function detachSocket(this: Response, socket: HttpSocket): void {
  const exchange = this[kExchange];
  if (exchange !== undefined && exchange === turning) {
    turning = null;
  } else if (exchange === undefined || socket._httpMessage !== this) {
    // Of another response's socket, Node's throws.
    stock.detachSocket.call(this, socket);
  } else {
    exchange.pipeline.dequeue(exchange);
  }
}

/** The response's turn has come. */
export function beginTurn(exchange: Exchange): void {
  const { response } = exchange;
  if (response.assignSocket !== assignSocket) callFor(exchange, 'assignSocket');
  else if (isObserved(response)) response.emit('socket', exchange.connection.socket);
}

/** The response is finished. */
export function endTurn(exchange: Exchange): void {
  if (hasOwnDetach(exchange.response)) callFor(exchange, 'detachSocket');
}

/** Whether a program sees the end of a response's turn. */
export function hasOwnDetach(response: Response): boolean {
  return response.detachSocket !== detachSocket;
}

function callFor(exchange: Exchange, name: 'assignSocket' | 'detachSocket'): void {
  turning = exchange;
  try {
    exchange.response[name](exchange.connection.socket);
  } finally {
    turning = null;
  }
}
