/**
 * `http.IncomingMessage`, server side.
 *
 * A request that a server of ours hands out has one field, its exchange; what Node's constructor would set up is
 * computed or made when first touched. Node's own prototype, `Readable` included, is below and works on it unchanged.
 * An object that somebody else constructs runs Node's constructor and is Node's.
 */

import { Buffer } from 'node:buffer';
import process = require('node:process');
import { REQUEST_FLAG_UPGRADE } from '../generated/layout';
import { wantMore } from './body';
import { enumerateAsNode } from './enumerability';
import { kExchange, type Exchange } from './exchange';
import { readDistinct, readField, readHeaders, readRaw, type FieldTable, type Headers } from './headers';
import { definePrinting, REQUEST_NAMES } from './inspection';
import { hasPatchedEmit } from './observation';
import { definerOf, Given, type Define } from './own-property';
import { addDefaults, destroysAtOnce, hasSignal, limitsRawHeaders, ReadableState, stockRequest, StockIncomingMessage } from './stock';

/** A request, with what we use of Node's internals. */
export interface Request {
  [kExchange]?: Exchange;
  _readableState: { readingMore: boolean; resumeScheduled: boolean; ended: boolean };
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
  _dump(): void;
  _dumpAndCloseReadable(): void;
  listenerCount(event: string): number;
}

/** First word of the field table in `REQUEST`. */
const FIELDS_WORD = 11;

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

/** What `new` of a lean request runs: no constructor of Node's. */
function LeanRequest(this: Request, exchange: Exchange): void {
  this[kExchange] = exchange;
}
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

/** The head's field table. The text is made once. */
function table(exchange: Exchange, all = false): FieldTable {
  const { slab: { words, bytes }, at } = exchange;
  const fields = words[at + 4] >>> 16;
  const count = all ? fields : Math.min(fields, exchange.connection.server.maxFields);
  // Payload begins after the table.
  const base = (FIELDS_WORD + fields * 4) << 2;
  const start = at << 2;
  exchange.text ??= bytes.latin1Slice(start + base, start + words[at]);
  return { words, at: at + FIELDS_WORD, count, text: exchange.text, base };
}

/** The head as received, blank line included. */
export function headBytes({ slab: { words, bytes }, at }: Exchange): Buffer {
  const fields = words[at + 4] >>> 16;
  const start = at << 2;
  const last = at + FIELDS_WORD + (fields - 1) * 4;
  // Behind the last value, or the version of a request line without fields.
  const from = start + (fields > 0 ? words[last + 2] + words[last + 3] : words[at + 5] + words[at + 6]);
  return Buffer.from(bytes.subarray(start + ((FIELDS_WORD + fields * 4) << 2), bytes.indexOf('\r\n\r\n', from) + 4));
}

/** Value of a request's field without making the header object. */
export function requestField(exchange: Exchange, name: string): string | undefined {
  return readField(table(exchange), name);
}

function readUrl(exchange: Exchange): string {
  const { slab: { words, bytes }, at } = exchange;
  const start = (at << 2) + words[at + 5];
  return exchange.url = bytes.latin1Slice(start, start + words[at + 6]);
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

/**
 * Whether the stream has to run though the program does not read it: its events are seen all the same. Makes the stream,
 * which then has what has come.
 */
export function isReadUnasked({ request }: Exchange): boolean {
  return hasPatchedEmit(request) && request._readableState !== undefined;
}

/** What Node does with a body that nobody has begun to read when the response is finished. */
export function dumpUnread(request: Request): void {
  if (!request._consuming && !request._readableState.resumeScheduled) request._dump();
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

const stockHeaders = stockAccessor('headers');
stored('url', (exchange) => exchange.url ?? readUrl(exchange));
stored('method', (exchange) => exchange.method);
stored('complete', (exchange) => exchange.complete);
Object.defineProperty(prototype, 'headers', {
  configurable: true,
  get(this: Request): unknown {
    const exchange = this[kExchange];
    if (exchange === undefined) return stockHeaders.get?.call(this);
    return exchange.headers ??= readHeaders(table(exchange), joins(exchange));
  },
  /** As in Node, nothing in their place has them made again. */
  set(this: Request, value: Exchange['headers']): void {
    const exchange = this[kExchange];
    if (exchange === undefined) stockHeaders.set?.call(this, value);
    else exchange.headers = value || undefined;
  },
});

function joins(exchange: Exchange): boolean {
  return exchange.connection.server.server.joinDuplicateHeaders === true;
}

computed('rawHeaders', (exchange) => readRaw(table(exchange, !limitsRawHeaders)));
computed('httpVersionMajor', () => 1);
computed('httpVersionMinor', minorVersion);
computed('httpVersion', (exchange) => `1.${minorVersion(exchange)}`);
computed('joinDuplicateHeaders', (exchange) => exchange.connection.server.server.joinDuplicateHeaders);
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

/** An accessor over a view of the fields. As in Node, nothing in its place has it made again. */
function view(name: string, read: (exchange: Exchange, request: Request) => unknown): void {
  const stock = stockAccessor(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: Request): unknown {
      const exchange = this[kExchange];
      if (exchange === undefined) return stock.get?.call(this);
      return (exchange.views ??= {})[name] ??= read(exchange, this);
    },
    set(this: Request, value: unknown): void {
      const exchange = this[kExchange];
      if (exchange === undefined) stock.set?.call(this, value);
      else (exchange.views ??= {})[name] = value || undefined;
    },
  });
}

view('headersDistinct', (_, request) => readDistinct((request as unknown as { rawHeaders: string[] }).rawHeaders));
view('trailersDistinct', (exchange) => readDistinct(exchange.rawTrailers ?? []));
view('trailers', (exchange) => joinTrailers(exchange, {}));

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

/** The trailers have come: whoever has looked at them before sees them. */
export function receiveTrailers(exchange: Exchange, raw: string[]): void {
  exchange.rawTrailers = raw;
  const seen = exchange.views?.['trailers'];
  if (seen !== undefined) joinTrailers(exchange, seen as Headers);
}

function joinTrailers(exchange: Exchange, into: Headers): Headers {
  const raw = exchange.rawTrailers ?? [];
  const add = stockRequest._addHeaderLine as (this: object, name: string, value: string, into: Headers) => void;
  for (let at = 0; at < raw.length; at += 2) add.call({ joinDuplicateHeaders: joins(exchange) }, raw[at], raw[at + 1], into);
  return into;
}

/** HTTP/1.x: the x. */
export function minorVersion(exchange: Exchange): number {
  return exchange.slab.words[exchange.at + 4] >>> 8 & 0xff;
}

const defaults = {
  aborted: false, statusCode: null, statusMessage: null, _consuming: false, _dumped: false,
};
for (const [name, value] of Object.entries(defaults)) {
  Object.defineProperty(prototype, name, { value, writable: true, configurable: true, enumerable: true });
}

const sample = new (StockIncomingMessage as new () => object)();
addDefaults(prototype, sample);

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
  if (exchange.held || exchange.connection.hasSocket) wantMore(exchange);
}

/** Nobody wants the rest of the body: only its end needs to come. */
function dump(this: Request): void {
  const exchange = this[kExchange];
  if (exchange !== undefined && !this._dumped) exchange.connection.discard(exchange);
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
  exchange.connection.discard(exchange);
}

/** An error is for those who listen. */
function finishDestroy(request: Request, error: Error | null, callback: (error?: Error | null) => void): void {
  if (error == null || request.listenerCount('error') === 0) callback();
  else callback(error);
}

Object.defineProperties(prototype, {
  _read: { value: read, writable: true, configurable: true },
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
