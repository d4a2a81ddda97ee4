/**
 * `http.ServerResponse`.
 *
 * A response that a server of ours hands out has its exchange, its request and `finished`; the rest of what Node's
 * constructor sets is a default on the prototype here. Node's methods for header fields are below and work on it
 * unchanged; output is ours (`response-output.ts`). An object that the program constructs itself runs Node's constructor and
 * Node's methods.
 */

import diagnostics = require('node:diagnostics_channel');
import { REQUEST_FLAG_KEEP_ALIVE } from '../generated/layout';
import { defineCacheDuration } from './cache-wish';
import { kExchange, type Exchange } from './exchange';
import { carryOver } from '../node/carry-over';
import { enumerateAsNode } from '../node/enumerability';
import { defineHeaderFields } from './header-fields';
import type { Request } from './incoming-message';
import { definePrinting, RESPONSE_NAMES } from './inspection';
import { definerOf } from '../node/own-property';
import { beginMeasure, isMeasured } from './performance';
import { minorVersion, requestField } from './request-fields';
import { renderHead, type HeaderArgument } from './response-head';
import { defineOutput } from './response-output';
import { defineState } from './response-state';
import { addDefaults, addEventNames, kErrored, kUniqueHeaders, sampleResponse, stockResponse, StockServerResponse, tellsResponseCreated } from './stock';

const responseCreated = diagnostics.channel('http.server.response.created');

/** A response, with what we use of Node's internals. */
export interface Response {
  [kExchange]?: Exchange;
  [key: symbol]: unknown;
  req: Request;
  finished: boolean;
  destroyed: boolean;
  _closed: boolean;
  _header: string | null;
  _events: unknown;
  statusCode: number;
  statusMessage: string | undefined;
  sendDate: boolean;
  chunkedEncoding: boolean;
  shouldKeepAlive: boolean;
  useChunkedEncodingByDefault: boolean;
  strictContentLength: boolean;
  maxRequestsOnConnectionReached: boolean;
  _last: boolean;
  _hasBody: boolean;
  _contentLength: number | null;
  _removedConnection: boolean;
  _removedContLen: boolean;
  _removedTE: boolean;
  _defaultKeepAlive: boolean;
  _keepAliveTimeout: number;
  _maxRequestsPerSocket: number;
  _expect_continue: boolean;
  _sent100: boolean;
  _trailer: string;
  readonly writableLength: number;
  readonly writableFinished: boolean;
  readonly writableHighWaterMark: number;
  emit(event: string, ...args: unknown[]): boolean;
  on(event: string, listener: (...args: never[]) => void): unknown;
  once(event: string, listener: (...args: never[]) => void): unknown;
  setHeader(name: string, value: unknown): unknown;
  appendHeader(name: string, value: unknown): unknown;
  removeHeader(name: string): void;
  hasHeader(name: string): boolean;
  getHeaders(): Record<string, unknown>;
  writeHead(status: number, reason?: unknown, headers?: HeaderArgument): Response;
  writeContinue(callback?: () => void): void;
  end(chunk?: unknown, encoding?: unknown, callback?: unknown): Response;
  destroy(error?: Error): Response;
  assignSocket(socket: unknown): void;
  detachSocket(socket: unknown): void;
  _implicitHeader(): void;
  _finish(): void;
}

/** The exchange that a class of the program's is being constructed for. */
let constructing: Exchange | null = null;

/** The exported constructor. Called by programs and by subclasses. */
export function ServerResponse(this: Response, request: unknown, options: unknown): void {
  if (constructing !== null) this[kExchange] = constructing;
  StockServerResponse.call(this, request, options);
}
Object.setPrototypeOf(ServerResponse, StockServerResponse as object);
const prototype = ServerResponse.prototype = Object.create(stockResponse as object, {
  constructor: { value: ServerResponse, writable: true, configurable: true },
}) as Record<string | symbol, unknown>;

/** What `new` of a lean response runs: no constructor of Node's. Its name is the one that stacks and messages show. */
const LeanResponse = function ServerResponse(this: Response, exchange: Exchange): void {
  this[kExchange] = exchange;
  this.req = exchange.request;
  this.finished = false;
};
LeanResponse.prototype = prototype;
const LeanResponseClass = LeanResponse as unknown as new (exchange: Exchange) => Response;

/** The response object of an exchange. */
export function makeResponse(exchange: Exchange): Response {
  const { server } = exchange.connection;
  const response = server.serverResponse === undefined
    ? new LeanResponseClass(exchange)
    : constructResponse(server.serverResponse, exchange);
  if (exchange.method === 'HEAD') response._hasBody = false;
  if ((exchange.flags & REQUEST_FLAG_KEEP_ALIVE) === 0) response.shouldKeepAlive = false;
  if (minorVersion(exchange) === 0 && !exchange.connection.isStream) {
    response.useChunkedEncodingByDefault = /(?:^|\W)chunked(?:$|\W)/i.test(requestField(exchange, 'te') ?? '');
  }
  if (server.uniqueHeaders !== null) response[kUniqueHeaders] = server.uniqueHeaders;
  if (isMeasured()) beginMeasure(exchange.request, response);
  if (tellsResponseCreated && responseCreated.hasSubscribers && server.serverResponse === undefined) {
    responseCreated.publish({ request: exchange.request, response });
  }
  return response;
}

/** An object of a class that the program gave as the option `ServerResponse`. */
function constructResponse(Class: new (request: unknown, options: object) => object, exchange: Exchange): Response {
  const { server } = exchange.connection.server;
  constructing = exchange;
  try {
    return new Class(exchange.request, {
      highWaterMark: server.highWaterMark, rejectNonStandardBodyWrites: server.rejectNonStandardBodyWrites,
    }) as Response;
  } finally {
    constructing = null;
  }
}

/** Nothing is kept of what is pending: the engine pauses by itself. */
function ignore(): void { /* As Node's default does. */ }

/** What Node's constructor sets, as far as it is the same for every response. */
const defaults: Record<string | symbol, unknown> = {
  statusCode: 200, statusMessage: undefined, finished: false, writable: true,
  sendDate: true, chunkedEncoding: false, shouldKeepAlive: true, useChunkedEncodingByDefault: true,
  strictContentLength: false, maxRequestsOnConnectionReached: false,
  _last: false, _hasBody: true, _contentLength: null, _removedConnection: false, _removedContLen: false,
  _removedTE: false, _defaultKeepAlive: true, _expect_continue: false, _sent100: false, _trailer: '',
  _onPendingData: ignore,
  [kErrored]: null, [kUniqueHeaders]: null,
};
for (const key of Reflect.ownKeys(defaults)) {
  Object.defineProperty(prototype, key, { value: defaults[key], writable: true, configurable: true, enumerable: true });
}

/** An accessor for responses of ours that others assign as a plain property. */
function own(name: string, get: (this: Response, exchange: Exchange) => unknown,
  set?: (this: Response, exchange: Exchange, value: unknown) => boolean): void {
  const define = definerOf(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    enumerable: true,
    get(this: Response): unknown {
      const exchange = this[kExchange];
      return exchange === undefined ? undefined : get.call(this, exchange);
    },
    set(this: Response, value: unknown): void {
      const exchange = this[kExchange];
      // What Node's constructor assigns to an object of a class of the program's is what it has anyway.
      if (exchange !== undefined && exchange === constructing) return;
      if (exchange !== undefined && set?.call(this, exchange, value) === true) return;
      define(this, value);
    },
  });
}

own('_header', function header(exchange) {
  return exchange.head === null ? null : renderHead(this, exchange);
}, (exchange, value) => value === null && exchange.head === null);
own('_headerSent', (_) => _.headSent);
own('_keepAliveTimeout', (exchange) => exchange.connection.server.settings.keepAliveTimeout);
own('_maxRequestsPerSocket', (exchange) => exchange.connection.server.settings.maxRequestsPerSocket);
own('outputData', () => []);

defineHeaderFields(prototype);
defineState(prototype);
defineOutput(prototype);
defineCacheDuration(prototype);
addDefaults(prototype, sampleResponse);
addEventNames(prototype);
definePrinting(prototype, kExchange, RESPONSE_NAMES);
enumerateAsNode(prototype, sampleResponse);
carryOver(prototype, 'ServerResponse');
