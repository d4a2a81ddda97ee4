/** The state of a response, as programs and `stream.finished` ask for it; and its listeners. */

import { executionAsyncId } from 'node:async_hooks';
import process = require('node:process');
import { getDefaultHighWaterMark } from 'node:stream';
import { WRITTEN_AT_ONCE_BYTES } from '../lane/raw-writes';
import { kExchange, type Exchange } from './exchange';
import { finish } from './lifecycle';
import { definerOf } from '../node/own-property';
import { renderHead } from './response-head';
import type { Response } from './server-response';
import { finishesEarly, joinsChunks, joinsCorkedChunks, kChunkedLength, kHighWaterMark, kWritableFinished, stockResponse } from './stock';

/** Whether what is kept until the tick ends counts as corked. */
const countsTicks = joinsChunks || !joinsCorkedChunks;

type Getter = (this: Response, exchange: Exchange) => unknown;

const defineSocket = definerOf('socket');
const defineHighWaterMark = definerOf(kHighWaterMark);

/** Defines an accessor; objects without an exchange get what Node's prototype has, or plain properties. */
function accessor(prototype: object, name: string, get: Getter, set?: (this: Response, value: unknown) => void): void {
  const stock = findDescriptor(stockResponse as object, name);
  const define = definerOf(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    enumerable: stock?.enumerable ?? true,
    get(this: Response): unknown {
      const exchange = this[kExchange];
      return exchange === undefined ? stock?.get?.call(this) : get.call(this, exchange);
    },
    set(this: Response, value: unknown): void {
      if (this[kExchange] === undefined && stock?.set !== undefined) stock.set.call(this, value);
      else if (this[kExchange] !== undefined && set !== undefined) set.call(this, value);
      else if (stock === undefined || stock.get === undefined) define(this, value);
    },
  });
}

function findDescriptor(from: object, name: string): PropertyDescriptor | undefined {
  for (let object: object | null = from; object !== null; object = Object.getPrototypeOf(object) as object | null) {
    const found = Object.getOwnPropertyDescriptor(object, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A response whose end the program was not told of has been sent when a later turn begins. */
function sentUnobserved(exchange: Exchange): boolean {
  return exchange.ended && !exchange.acknowledged && exchange.connection.lane.turn !== exchange.endTurn;
}

/**
 * The same for who only looks: where something else runs than what ended it, a timer perhaps, it has been sent although
 * the engine had nothing to tell since.
 */
function isSent(exchange: Exchange): boolean {
  return sentUnobserved(exchange) || exchange.ended && !exchange.acknowledged && executionAsyncId() !== exchange.endAsyncId;
}

/** Before Node 26 a response counts as finished when its last bytes have been written, which Node does at once. */
function writtenAtOnce(exchange: Exchange): boolean {
  const { ended, unsendable, isCurrent, leftEarly, connection, unsentBytes } = exchange;
  const hadTurn = isCurrent || leftEarly || connection.closed;
  return finishesEarly && ended && !unsendable && hadTurn && unsentBytes <= WRITTEN_AT_ONCE_BYTES;
}

function highWaterMark(exchange: Exchange): number {
  return exchange.connection.server.highWaterMark ?? getDefaultHighWaterMark(false);
}

/** Bytes around a chunk of so many. */
function chunkFraming(bytes: number): number {
  return bytes.toString(16).length + 4;
}

/** More than `chunkFraming` says of any chunk. */
const MOST_FRAMING_BYTES = 24;

/** Bytes handed over that are not known to have left. As in Node, which writes at once, what surely fits counts as gone. */
function unsent({ isCurrent, unsentBytes }: Exchange): number {
  return isCurrent && unsentBytes <= WRITTEN_AT_ONCE_BYTES ? 0 : unsentBytes;
}

/** Bytes that the program has written and that are not known to have left. */
function writableLength(exchange: Exchange): number {
  const kept = exchange.framed === null ? 0 : (exchange.response[kChunkedLength] as number | undefined) ?? 0;
  const pendingBytes = exchange.pendingBytes + kept;
  if (pendingBytes === 0 || !exchange.response.chunkedEncoding) return pendingBytes + unsent(exchange);
  // What is kept back counts with the framing it will get.
  let framing = 0;
  if (joinsChunks) framing = chunkFraming(pendingBytes);
  else for (const { length } of exchange.pending ?? []) framing += length === 0 ? 0 : chunkFraming(length);
  return pendingBytes + framing + unsent(exchange);
}

/** As above, with the head if it waits too: for the response's turn, or with what is kept back behind it. */
function queuedLength(this: Response, exchange: Exchange): number {
  const bytes = sentUnobserved(exchange) ? 0 : writableLength(exchange);
  const headWaits = exchange.headSent ? isQueued(exchange) : exchange.pending !== null;
  return headWaits ? bytes + renderHead(this, exchange).length : bytes;
}

/** Whether the response waits for earlier ones. */
function isQueued(exchange: Exchange): boolean {
  return !exchange.isCurrent && !exchange.leftEarly && !exchange.finished && !sentUnobserved(exchange);
}

/** How often it was corked; until the tick ends, `write` has done so too. */
function corked(this: Response, exchange: Exchange): number {
  const byWrite = countsTicks && exchange.flushScheduled && !exchange.ended && !(joinsChunks && this.destroyed);
  return exchange.corked + (byWrite ? 1 : 0);
}

/** Whether more may be written without waiting for 'drain'. */
export function hasRoom(exchange: Exchange): boolean {
  const { framed, unsentBytes, pendingBytes, pending } = exchange;
  const most = unsentBytes + pendingBytes + (pending === null ? 0 : pending.length * MOST_FRAMING_BYTES);
  if (framed === null && most < highWaterMark(exchange)) return true;
  // Without a count of each chunk's framing, where a program writes on and on.
  if (unsent(exchange) + pendingBytes >= highWaterMark(exchange)) return false;
  return writableLength(exchange) < highWaterMark(exchange);
}

/** Defines the accessors and the listener methods. */
export function defineState(prototype: object): void {
  // What Node's constructor assigns, for a class of the program's, is no response's yet.
  accessor(prototype, 'socket', socketOf, function set(value) { if (this[kExchange]?.response !== undefined) defineSocket(this, value); });
  accessor(prototype, 'connection', function connection() { return (this as unknown as { socket: unknown }).socket; },
    function set(value) { (this as unknown as { socket: unknown }).socket = value; });
  accessor(prototype, '_closed', isSent);
  accessor(prototype, 'destroyed', isSent);
  accessor(prototype, 'headersSent', (exchange) => exchange.head !== null);
  accessor(prototype, 'writableFinished', function finished(exchange) {
    return exchange.finished || isSent(exchange) || writtenAtOnce(exchange) || exchange.framed !== null && this[kWritableFinished] === true;
  });
  accessor(prototype, 'writableLength', queuedLength);
  accessor(prototype, 'writableHighWaterMark', highWaterMark);
  accessor(prototype, 'outputSize', function outputSize(exchange) { return exchange.isCurrent ? 0 : queuedLength.call(this, exchange); });
  Object.defineProperty(prototype, kHighWaterMark, {
    configurable: true,
    get(this: Response): unknown { return this[kExchange] === undefined ? undefined : highWaterMark(this[kExchange]); },
    set(this: Response, value: unknown): void { defineHighWaterMark(this, value); },
  });
  accessor(prototype, 'writableCorked', corked);
  accessor(prototype, 'writableNeedDrain', function needsDrain(exchange) {
    return !this.destroyed && !this.finished && exchange.needDrain;
  });
  for (const name of ['on', 'addListener', 'prependListener'] as const) {
    Object.defineProperty(prototype, name, { value: listening(name), writable: true, configurable: true });
  }
  if ('_isLenientHeaderValidation' in stockResponse) Object.defineProperty(prototype, '_isLenientHeaderValidation', isLenient);
}

/** Servers with another way to parse run on Node's own stack. Node's method would make the socket to find that out. */
const isLenient: PropertyDescriptor = {
  value(this: Response): boolean {
    return this[kExchange] === undefined && (stockResponse as { _isLenientHeaderValidation(): boolean })._isLenientHeaderValidation.call(this);
  },
  writable: true, configurable: true,
};

/** Only the response whose turn it is has a socket, until it is finished. */
function socketOf(this: Response, exchange: Exchange): unknown {
  const isLeaving = exchange.leftEarly && !exchange.finished && !sentUnobserved(exchange);
  const hasTurn = exchange.isCurrent || isLeaving || exchange.pipeline.abandoned === exchange;
  return hasTurn ? exchange.connection.socket : null;
}

/** A listener that comes after an end that the program was not told of: 'finish' and 'close' are still to come, as in Node. */
function listening(name: 'on' | 'addListener' | 'prependListener'): (event: string, listener: () => void) => unknown {
  return { [name](this: Response, event: string, listener: () => void): unknown {
    (stockResponse[name] as (this: unknown, event: string, listener: () => void) => unknown).call(this, event, listener);
    const exchange = this[kExchange];
    if (exchange !== undefined && exchange.ended && !exchange.acknowledged && !sentUnobserved(exchange)) {
      exchange.acknowledged = true;
      process.nextTick(finish, exchange);
    }
    return this;
  } }[name];
}
