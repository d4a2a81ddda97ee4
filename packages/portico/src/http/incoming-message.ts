/**
 * `http.IncomingMessage`, server side.
 *
 * A request that a server of ours hands out has one field, its exchange; what Node's constructor would set up is
 * computed or made when first touched. Node's own prototype, `Readable` included, is below and works on it unchanged.
 * An object that the program constructs itself runs Node's constructor and is Node's.
 */

import process = require('node:process');
import { EventRequest, REQUEST_FLAG_UPGRADE } from '../generated/layout';
import { noteFlow, stopsNode, wantMore } from './body';
import { carryOver } from '../node/carry-over';
import { enumerateAsNode } from '../node/enumerability';
import { kExchange, type Exchange } from './exchange';
import { definePrinting, REQUEST_NAMES } from './inspection';
import { definerOf, Given, type Define } from '../node/own-property';
import { majorVersion, minorVersion, rawHeaders, defineFields } from './request-fields';
import { dumpUnread } from './unread-body';
import { addDefaults, addEventNames, destroysAtOnce, hasSignal, ReadableState, stockRequest, StockIncomingMessage } from './stock';

/** A request, with what we use of Node's internals. */
export interface Request {
  [kExchange]?: Exchange;
  _readableState: {
    readingMore: boolean; resumeScheduled: boolean; ended: boolean; flowing: boolean | null; dataEmitted: boolean; pipes: unknown[];
  };
  _consuming: boolean;
  _dumped: boolean;
  _events: unknown;
  readonly readableEnded: boolean;
  readonly readableLength: number;
  complete: boolean;
  aborted: boolean;
  upgrade: boolean | null;
  destroyed: boolean;
  socket: { destroyed: boolean };
  push(chunk: Buffer | null): boolean;
  emit(event: string, ...args: unknown[]): boolean;
  destroy(error?: Error): unknown;
  resume(): unknown;
  _dump(): void;
  _dumpAndCloseReadable(): void;
  listenerCount(event: string): number;
  once(event: string, listener: () => void): unknown;
}

/** The exported constructor. Called by programs and by subclasses. */
export function IncomingMessage(this: Request, socket: unknown): void {
  if (constructing !== null) this[kExchange] = constructing;
  StockIncomingMessage.call(this, socket);
}
Object.setPrototypeOf(IncomingMessage, StockIncomingMessage as object);
const prototype = IncomingMessage.prototype = Object.create(stockRequest as object, {
  constructor: { value: IncomingMessage, writable: true, configurable: true },
}) as object;
// Responses that Node's client receives are instances as well.
Object.defineProperty(IncomingMessage, Symbol.hasInstance, {
  configurable: true,
  value(this: { prototype: object }, value: unknown): boolean {
    const wanted = this === (IncomingMessage as unknown) ? stockRequest as object : this.prototype;
    return typeof value === 'object' && value !== null && Object.prototype.isPrototypeOf.call(wanted, value);
  },
});

/** The exchange that a class of the program's is being constructed for. */
let constructing: Exchange | null = null;

/** What `new` of a lean request runs: no constructor of Node's. Its name is the one that stacks and messages show. */
const LeanRequest = function IncomingMessage(this: Request, exchange: Exchange): void {
  this[kExchange] = exchange;
};
LeanRequest.prototype = prototype;
const LeanRequestClass = LeanRequest as unknown as new (exchange: Exchange) => Request;

/** The request object of an exchange. */
export function makeRequest(exchange: Exchange): Request {
  const Class = exchange.connection.server.incomingMessage;
  return Class === undefined ? new LeanRequestClass(exchange) : constructRequest(Class, exchange);
}

/** An object of a class that the program gave as the option `IncomingMessage`. */
function constructRequest(Class: new (socket: unknown) => object, exchange: Exchange): Request {
  constructing = exchange;
  try {
    return new Class(exchange.connection.socket) as Request;
  } finally {
    constructing = null;
  }
}

function readUrl(exchange: Exchange): string {
  const { slab: { words, bytes }, at } = exchange;
  const start = (at << 2) + words[at + EventRequest.TARGET_OFFSET];
  return exchange.url = bytes.latin1Slice(start, start + words[at + EventRequest.TARGET_LENGTH]);
}

/** Makes the stream state, and puts in it what Node's parser would have put there by now. */
function openStream(request: Request, exchange: Exchange): Request['_readableState'] {
  const highWaterMark = exchange.connection.server.highWaterMark;
  const state = new ReadableState(highWaterMark === undefined ? undefined : { highWaterMark }, request, false);
  state.readingMore = true;
  defineState(request, state);
  exchange.touched = true;
  const { body } = exchange;
  exchange.body = null;
  if (body !== null) for (const chunk of body) request.push(chunk);
  if (exchange.complete) request.push(null);
  if (exchange.finished || exchange.ended && !exchange.acknowledged) process.nextTick(dumpUnread, request);
  return state;
}

/** The state is defined on each request whose body is read. */
let nextState: unknown;
class StateField extends Given {
  _readableState = nextState;
}

function defineState(request: Request, state: unknown): void {
  nextState = state;
  new StateField(request);
  nextState = undefined;
}

/** What Node's prototype has under a name; objects that no server of ours made get that. */
function stockAccessor(name: string): PropertyDescriptor {
  return Object.getOwnPropertyDescriptor(stockRequest, name) ?? {};
}

/** Assignment to an object that no server of ours made. */
function assign(request: Request, define: Define, stock: PropertyDescriptor, value: unknown): void {
  if (stock.set !== undefined) stock.set.call(request, value);
  else define(request, value);
}

/** An accessor whose value is computed once and whose assignment makes a plain property. */
function computed(name: string, compute: (exchange: Exchange, request: Request) => unknown): void {
  const stock = stockAccessor(name);
  const define = definerOf(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    enumerable: true,
    get(this: Request): unknown {
      const exchange = this[kExchange];
      if (exchange === undefined) return stock.get?.call(this);
      const value = compute(exchange, this);
      define(this, value);
      return value;
    },
    set(this: Request, value: unknown): void {
      const exchange = this[kExchange];
      if (exchange === undefined) assign(this, define, stock, value);
      else if (exchange !== constructing) define(this, value);
    },
  });
}

/** An accessor over a field of the exchange, as long as the program leaves a value there. */
function stored<Name extends 'url' | 'method' | 'complete'>(name: Name, read: (exchange: Exchange) => unknown): void {
  const stock = stockAccessor(name);
  const define = definerOf(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: Request): unknown {
      const exchange = this[kExchange];
      return exchange === undefined ? stock.get?.call(this) : read(exchange);
    },
    set(this: Request, value: Exchange[Name] | null): void {
      const exchange = this[kExchange];
      if (exchange === undefined) assign(this, define, stock, value);
      else if (exchange === constructing) return;
      // What the exchange has not got it would look up again.
      else if (value === undefined || value === null) define(this, value);
      else exchange[name] = value;
    },
  });
}

stored('url', (exchange) => exchange.url ?? readUrl(exchange));
stored('method', (exchange) => exchange.method);
stored('complete', (exchange) => exchange.complete);
defineFields(prototype);
computed('rawHeaders', rawHeaders);
computed('httpVersionMajor', majorVersion);
computed('httpVersionMinor', minorVersion);
computed('httpVersion', (exchange) => `${majorVersion(exchange)}.${minorVersion(exchange)}`);
computed('joinDuplicateHeaders', (exchange) => exchange.connection.server.server.joinDuplicateHeaders || null);
computed('socket', (exchange) => exchange.connection.socket);
computed('client', (_, request) => request.socket);
computed('upgrade', (exchange) => (exchange.flags & REQUEST_FLAG_UPGRADE) !== 0);
Object.defineProperty(prototype, '_readableState', {
  configurable: true,
  get(this: Request): unknown {
    const exchange = this[kExchange];
    return exchange === undefined ? undefined : openStream(this, exchange);
  },
  /** `Readable`'s constructor, run for a class of the program's. */
  set(this: Request, value: unknown): void {
    const exchange = this[kExchange];
    if (exchange !== undefined) exchange.touched = true;
    defineState(this, value);
  },
});

/** As received; empty until the request is complete, and kept from then on. */
const defineRawTrailers = definerOf('rawTrailers');
Object.defineProperty(prototype, 'rawTrailers', {
  configurable: true,
  get(this: Request): unknown {
    const exchange = this[kExchange];
    if (exchange === undefined) return undefined;
    const raw = exchange.rawTrailers ?? [];
    if (exchange.complete) defineRawTrailers(this, raw);
    return raw;
  },
  set(this: Request, value: unknown): void {
    const exchange = this[kExchange];
    if (exchange === undefined || exchange !== constructing) defineRawTrailers(this, value);
  },
});

const defaults = {
  aborted: false, statusCode: null, statusMessage: null, _consuming: false, _dumped: false,
};
for (const [name, value] of Object.entries(defaults)) {
  Object.defineProperty(prototype, name, { value, writable: true, configurable: true, enumerable: true });
}

const sample = new (StockIncomingMessage as new () => object)();
addDefaults(prototype, sample);
addEventNames(prototype);

/** Reads on: the engine may have been told to pause. */
function read(this: Request, size: number): void {
  const exchange = this[kExchange];
  if (exchange === undefined) {
    (stockRequest._read as (this: unknown, size: number) => void).call(this, size);
    return;
  }
  if (!this._consuming) {
    this._readableState.readingMore = false;
    this._consuming = true;
  }
  noteFlow(exchange);
  if (exchange.held || exchange.connection.hasSocket) wantMore(exchange);
}

/** Node's, which pauses the stream behind its last pipe. */
function unpipe(this: Request, ...destination: unknown[]): Request {
  const exchange = this[kExchange];
  const wasPiped = exchange?.touched === true && this._readableState.pipes.length > 0;
  (stockRequest.unpipe as (this: unknown, ...destination: unknown[]) => void).apply(this, destination);
  if (wasPiped && this._readableState.pipes.length === 0) (exchange as Exchange).unpiped = true;
  return this;
}

/** The program does not want the rest of the body: only its end needs to come. */
function dump(this: Request): void {
  const exchange = this[kExchange];
  if (exchange !== undefined && !this._dumped) exchange.pipeline.discard(exchange);
  (stockRequest._dump as (this: unknown) => void).call(this);
}

/** Node's, short of touching the socket for a request that came in full and was read in full. */
function destroyRequest(this: Request, error: Error | null, callback: (error?: Error | null) => void): void {
  const exchange = this[kExchange];
  if (exchange !== undefined && this.readableEnded && this.complete && !this.aborted) {
    if (destroysAtOnce && error == null) callback();
    else process.nextTick(finishDestroy, this, error, callback);
    return;
  }
  (stockRequest._destroy as (this: unknown, error: unknown, callback: unknown) => void).call(this, error, callback);
  if (exchange === undefined) return;
  exchange.abortController?.abort();
  // An iterator that was left destroys the request and not its connection, which goes on without the rest of the body.
  if (exchange.held || stopsNode(exchange)) exchange.pipeline.leave(exchange);
}

/** An error is for those who listen. */
function finishDestroy(request: Request, error: Error | null, callback: (error?: Error | null) => void): void {
  if (error == null || request.listenerCount('error') === 0) callback();
  else callback(error);
}

Object.defineProperties(prototype, {
  _read: { value: read, writable: true, configurable: true },
  unpipe: { value: unpipe, writable: true, configurable: true },
  _dump: { value: dump, writable: true, configurable: true },
  _destroy: { value: destroyRequest, writable: true, configurable: true },
});

if (hasSignal) {
  const stockSignal = Object.getOwnPropertyDescriptor(stockRequest, 'signal') as PropertyDescriptor;
  Object.defineProperty(prototype, 'signal', {
    configurable: true,
    get(this: Request): AbortSignal {
      const exchange = this[kExchange];
      if (exchange === undefined) return stockSignal.get?.call(this) as AbortSignal;
      if (exchange.abortController === undefined) {
        exchange.abortController = new AbortController();
        const over = this.destroyed && (!this.readableEnded || !this.complete);
        if (over || exchange.connection.closed && !exchange.finished) exchange.abortController.abort();
      }
      return exchange.abortController.signal;
    },
  });
}

definePrinting(prototype, kExchange, REQUEST_NAMES);
enumerateAsNode(prototype, sample);
carryOver(prototype, 'IncomingMessage');
