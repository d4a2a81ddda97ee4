/**
 * Node's own HTTP classes, captured before anything replaces them, and the few of their internals that objects of ours
 * must share so that Node's methods work on them unchanged. Load this module before `register` swaps exports.
 */

import diagnostics = require('node:diagnostics_channel');
import { EventEmitter } from 'node:events';
import http = require('node:http');
import stream = require('node:stream');
import { isNodesOwn } from '../node/pristine';
import { isAtLeast } from '../node/version';
import { reportLost } from '../node/carry-over';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- prototypes with members that no type declares.
type Internals = any;

/** Node's constructors, and below their prototypes. */
export const StockServer = stockClass('Server') as typeof http.Server;
export const StockServerResponse = stockClass('ServerResponse');
export const StockIncomingMessage = stockClass('IncomingMessage');
export const StockOutgoingMessage = stockClass('OutgoingMessage');
export const stockServer = StockServer.prototype as Internals;
export const stockResponse = StockServerResponse.prototype as Internals;
export const stockRequest = StockIncomingMessage.prototype as Internals;
/** Constructor of the state behind `Readable`. */
export const ReadableState = (stream.Readable as Internals).ReadableState as new (
  options: { highWaterMark?: number } | undefined, stream: unknown, duplex: boolean) => Internals;

/** Node's handler of 'connection': its own HTTP stack on any duplex. */
export const stockConnectionListener = (http as Internals)._connectionListener as (this: unknown, socket: unknown) => void;

/** Whether `IncomingMessage` has the accessor 'signal' (Node 26). */
export const hasSignal = 'signal' in stockRequest;

/** A class of Node's, also where a program has put a function of its own around it. */
function stockClass(name: 'Server' | 'ServerResponse' | 'IncomingMessage' | 'OutgoingMessage'): Internals {
  const exported = http[name] as Internals;
  const { constructor } = exported.prototype as Internals;
  if (isNodesOwn(exported) || !isNodesOwn(constructor)) return exported;
  reportLost(`http.${name}`);
  return constructor;
}

function symbolOf(object: object, description: string): symbol {
  const found = Object.getOwnPropertySymbols(object).find((symbol) => symbol.description === description);
  // A symbol of our own in its place keeps the code below working: no other code will look at it.
  return found ?? Symbol(description);
}

const sampleMessage = new (StockOutgoingMessage as new () => object)();
/** A server and a response of Node's own, which are not used, to see what Node's constructors make. */
export const sampleServer = new StockServer();
export const sampleResponse = makeResponse();

function makeResponse(): object {
  return new (StockServerResponse as new (request: object) => object)({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 });
}


/** Key of the map of headers that `setHeader` fills. */
export const kOutHeaders = symbolOf(sampleMessage, 'kOutHeaders');
/** Key of the error that a response was destroyed with. */
export const kErrored = symbolOf(sampleMessage, 'errored');
/** Key of a message's high-water mark. */
export const kHighWaterMark = symbolOf(sampleMessage, 'kHighWaterMark');
/** Key of the set of names that `uniqueHeaders` lists, on servers and responses. */
export const kUniqueHeaders = symbolOf(sampleServer, 'kUniqueHeaders');
/** Keys of the classes that a server makes its requests and responses of. */
export const kIncomingMessage = symbolOf(sampleServer, 'IncomingMessage');
export const kServerResponse = symbolOf(sampleServer, 'ServerResponse');
/** Key of the option `optimizeEmptyRequests`. */
export const kOptimizeEmptyRequests = symbolOf(sampleServer, 'OptimizeEmptyRequestsOption');
/** Keys of what Node's methods of a message keep while they write. */
export const kSocket = symbolOf(sampleMessage, 'kSocket');
export const kCorked = symbolOf(sampleMessage, 'corked');
export const kWritableFinished = symbolOf(sampleMessage, 'kWritableFinished');
export const kNeedDrain = symbolOf(sampleMessage, 'kNeedDrain');
export const kChunkedBuffer = symbolOf(sampleMessage, 'kChunkedBuffer');
export const kChunkedLength = symbolOf(sampleMessage, 'kChunkedLength');

function hasSymbol(description: string): boolean {
  return Object.getOwnPropertySymbols(sampleMessage).some((symbol) => symbol.description === description);
}

/** Prototype of `headersDistinct`: null in newer versions. */
export const distinctPrototype = Object.getPrototypeOf(
  (new (StockIncomingMessage as new () => { headersDistinct: object })()).headersDistinct) as object | null;

/** Whether `maxHeadersCount` cuts `rawHeaders` too (Node 24), not only `headers`. */
export const limitsRawHeaders = isAtLeast(24, 0);

/**
 * Gives a prototype the fields that Node's constructor sets to null, numbers or booleans, as far as it has no others
 * under their names: what Node's methods find on objects for which no constructor has run.
 */
export function addDefaults(prototype: object, sample: object): void {
  for (const key of Reflect.ownKeys(sample)) {
    const value = (sample as Record<string | symbol, unknown>)[key];
    // What every emitter inherits stays inherited: `events.captureRejections` is set there while programs run.
    if (Object.hasOwn(EventEmitter.prototype, key)) continue;
    if (Object.hasOwn(prototype, key) || typeof value === 'object' && value !== null || typeof value === 'function') continue;
    Object.defineProperty(prototype, key, { value, writable: true, configurable: true, enumerable: true });
  }
}

/**
 * The names of the events that have listeners. Node's own method for streams looks into the listeners without asking
 * whether there are any; on an object that Node's constructor has not run on there are none.
 */
export function addEventNames(prototype: object): void {
  const { eventNames: stock } = prototype as { eventNames(): (string | symbol)[] };
  const eventNames = function eventNames(this: { _events?: unknown }): (string | symbol)[] {
    return this._events === undefined ? [] : stock.call(this);
  };
  Object.defineProperty(prototype, 'eventNames', { value: eventNames, writable: true, configurable: true, enumerable: false });
}

/** Whether `writableFinished` is true as soon as everything has been written (older Node), not when 'finish' comes. */
export const finishesEarly = !hasSymbol('kWritableFinished');
/** Whether a response that is destroyed before its turn closes with its connection (Node 20), not at once. */
export const destroysInTurn = probeDestroyInTurn();

function probeDestroyInTurn(): boolean {
  const message = new (StockOutgoingMessage as new () => Internals)();
  withoutTicks(() => message.destroy());
  return message.listenerCount('socket') > 0;
}

/** What Node puts off to the next tick must not reach the program's async hooks. */
function withoutTicks(action: () => void): void {
  const { nextTick } = process;
  process.nextTick = (() => true) as unknown as typeof nextTick;
  try {
    action();
  } finally {
    process.nextTick = nextTick;
  }
}

/** Whether what is written between `cork` and `uncork` becomes one chunk (Node 24), not one for each `write`. */
export const joinsCorkedChunks = hasSymbol('kChunkedBuffer');
/** Whether what is written in one tick does (Node 26). */
export const joinsChunks = isNodesOwn(stockResponse.write) ? probeJoining() : isAtLeast(26, 0);

/** Whether a request that was read to its end is destroyed in the same tick (Node 26). */
export const destroysAtOnce = isAtLeast(26, 0);

/** Whether the body of a request that is upgraded is the request's (Node 26), not the first bytes of what follows it. */
export const readsUpgradeBody = isAtLeast(26, 0);

/** Writes to a message with a socket that goes nowhere: does the message cork itself? */
function probeJoining(): boolean {
  const message = new (StockOutgoingMessage as new () => Internals)();
  const ignore = (): boolean => true;
  message.socket = { cork: ignore, uncork: ignore, write: ignore, writable: true, writableCorked: 0, writableLength: 0,
    writableHighWaterMark: 1024, _httpMessage: message };
  message._header = message._implicitHeader = ignore;
  message._headerSent = message.chunkedEncoding = true;
  withoutTicks(() => message.write('x'));
  return message.writableCorked > 0;
}
/** Whether the channel `http.server.response.created` exists. */
export const tellsResponseCreated = probeResponseCreated();

function probeResponseCreated(): boolean {
  const channel = diagnostics.channel('http.server.response.created');
  let told = false;
  const listener = (): void => { told = true; };
  channel.subscribe(listener);
  makeResponse();
  channel.unsubscribe(listener);
  return told;
}
