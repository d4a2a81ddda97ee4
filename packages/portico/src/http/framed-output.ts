/**
 * Node's own `write`, `end` and their like on a response of ours: taken off `OutgoingMessage.prototype` by a program, or
 * called by the wrapper that an agent put around them before Portico was loaded. They end in `_send` with the bytes that
 * would go to the socket behind the head, and in fields of Node's; both come here, and from here to the engine.
 */

import process = require('node:process');
import { kExchange, type Callback, type Exchange } from './exchange';
import { definerOf } from '../node/own-property';
import { byteLength } from '../lane/writer';
import { finishOutput } from './response-end';
import { addPending, flushPending, sendHead, takeBuffered } from './response-write';
import { hasRoom } from './response-state';
import type { Response } from './server-response';
import { kChunkedBuffer, kCorked, kNeedDrain, kSocket } from './stock';
import { Dechunker } from './dechunker';

/** What Node's methods have left for one response. */
export interface Framed {
  readonly dechunker: Dechunker;
  /** Those of `_send` without bytes: they wait for all before. */
  callbacks: Callback[];
  scheduled: boolean;
  /** Node's own `end` emits 'finish', from one of the callbacks. */
  tellsFinish: boolean;
}

function stateOf(exchange: Exchange): Framed {
  return exchange.framed ??= { dechunker: new Dechunker(), callbacks: [], scheduled: false, tellsFinish: false };
}

/** Bytes behind the head, framed where the body is chunked. False: wait for 'drain'. */
export function sendFramed(response: Response, exchange: Exchange, data: string | Uint8Array, encoding: BufferEncoding | undefined,
  callback: Callback | undefined): boolean {
  const { connection } = exchange;
  if (connection.closed || connection.destroying) return false;
  const state = stateOf(exchange);
  if (data.length === 0) {
    if (callback !== undefined) state.callbacks.push(callback);
  } else if (response.chunkedEncoding) {
    const bytes = typeof data === 'string' ? Buffer.from(data, encoding) : data;
    for (const part of state.dechunker.take(bytes)) addPending(exchange, part, part.byteLength, undefined, undefined);
    if (callback !== undefined && state.dechunker.ended) state.callbacks.push(callback);
    else if (callback !== undefined) addPending(exchange, '', 0, undefined, callback);
  } else {
    addPending(exchange, data, byteLength(data, encoding), encoding, callback);
  }
  // Without its turn a response has no socket to be corked with.
  if (!exchange.isCurrent && exchange.corked === 0 && data.length > 0 && exchange.pendingBytes > 0) flushPending(exchange);
  schedule(exchange);
  return hasRoom(exchange);
}

function schedule(exchange: Exchange): void {
  const state = stateOf(exchange);
  if (state.scheduled) return;
  state.scheduled = true;
  process.nextTick(settle, exchange);
}

/** Hands over what Node's methods have left. `finished` says whether that was all. */
export function settle(exchange: Exchange): void {
  const state = exchange.framed;
  if (state === null || exchange.ended) return;
  state.scheduled = false;
  const { response, connection } = exchange;
  takeBuffered(exchange);
  const { callbacks } = state;
  state.callbacks = [];
  if (response.finished && exchange.head !== null && !response.destroyed) {
    exchange.corked = 0;
    state.tellsFinish = true;
    exchange.endCallbacks = callbacks.concat(exchange.endCallbacks ?? []);
    finishOutput(response, exchange, undefined, 0, undefined);
    return;
  }
  if (exchange.head === null) return;
  // With a connection that has gone, this tells the callbacks.
  if (connection.closed || connection.destroying) flushPending(exchange);
  else if (exchange.corked === 0 && exchange.pending !== null) flushPending(exchange);
  else if (!exchange.headSent && exchange.pending === null) sendHead(exchange, 0, undefined, 0, undefined);
  for (const callback of callbacks) process.nextTick(callback, null);
}

/** The response is corked no more: what was kept leaves, unless the end is about to follow. */
export function uncork(exchange: Exchange): void {
  takeBuffered(exchange);
  if (exchange.framed?.scheduled !== true && !exchange.response.destroyed) flushPending(exchange);
}

/** Defines the fields that Node's methods keep their state in. */
export function defineFramedFields(prototype: object): void {
  field(prototype, kSocket, (response) => response.socket);
  field(prototype, kCorked, (_, exchange) => exchange.corked, (exchange, value) => {
    const wasCorked = exchange.corked > 0;
    exchange.corked = Math.max(0, Number(value));
    // The constructor of a class of the program's is no method of a response yet.
    if (exchange.corked > 0 || exchange.response === undefined) return;
    if (wasCorked) uncork(exchange);
    schedule(exchange);
  });
  field(prototype, kNeedDrain, (_, exchange) => exchange.needDrain, (exchange, value) => { exchange.needDrain = Boolean(value); });
  const define = definerOf(kChunkedBuffer);
  field(prototype, kChunkedBuffer, (response, exchange) => {
    stateOf(exchange);
    const buffer: unknown[] = [];
    define(response, buffer);
    return buffer;
  }, (exchange, value) => { if (exchange.response !== undefined) define(exchange.response, value); });
}

type Framable = Response & { socket: unknown };

function field(prototype: object, key: symbol, get: (response: Framable, exchange: Exchange) => unknown,
  set?: (exchange: Exchange, value: unknown) => void): void {
  const define = definerOf(key);
  Object.defineProperty(prototype, key, {
    configurable: true,
    get(this: Framable): unknown {
      const exchange = this[kExchange];
      return exchange === undefined ? undefined : get(this, exchange);
    },
    set(this: Framable, value: unknown): void {
      const exchange = this[kExchange];
      if (exchange === undefined) define(this, value);
      else set?.(exchange, value);
    },
  });
}
