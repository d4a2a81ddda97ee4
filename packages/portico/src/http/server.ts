/**
 * `http.Server` on the engine.
 *
 * Node's own constructor runs, so that Node checks the options, and Node's own `listen` does everything up to the
 * moment where the handle would begin to listen; `listen-handle.ts` takes over there.
 */

import http = require('node:http');
import { EventEmitter } from 'node:events';
import { listenOnPrefix, prefixOf } from '../host/listen-on-prefix';
import { PrefixHandle } from '../host/prefix-handle';
import { enumerateAsNode } from '../node/enumerability';
import { HEAD_BYTES } from '../generated/layout';
import { attachmentOf, maxHeaderSizeOf, type AttachedServer, type ServerObject, type SettingName } from '../lane/attached-server';
import { BOTH_VERSIONS, speaksHttp2 } from '../native/http2-setting';
import { interceptHandle, leaveListening } from '../lane/listen-handle';
import { kConnection } from '../lane/socket';
import { leaveToNode } from '../lane/stock-server';
import { beginHttp1 } from './http1';
import { beginStreams } from './streams';
import { carryFunction, carryOver } from '../node/carry-over';
import { listenInWorker } from '../worker/listen-on-port';
import { kIncomingMessage, kOptimizeEmptyRequests, kServerResponse, kUniqueHeaders, sampleServer, stockConnectionListener,
  StockIncomingMessage, stockServer, StockServer, StockServerResponse } from './stock';

type Listener = (...args: unknown[]) => void;
type Options = Record<string, unknown>;

interface ServerConstructor {
  new (options?: unknown, requestListener?: unknown): ServerObject;
  prototype: object;
}

/** Settings that take effect on a server that listens already. */
const SETTINGS: SettingName[] = ['headersTimeout', 'requestTimeout', 'keepAliveTimeout', 'keepAliveTimeoutBuffer', 'timeout',
  'maxRequestsPerSocket', 'maxHeadersCount', 'maxConnections'];

/** The constructor, callable without `new` as Node's is. */
export function Server(this: ServerObject | undefined, options?: unknown, requestListener?: unknown): unknown {
  if (!(this instanceof (Server as unknown as ServerConstructor))) {
    return new (Server as unknown as ServerConstructor)(options, requestListener);
  }
  Reflect.apply(StockServer as unknown as Listener, this, [options, requestListener]);
  replaceConnectionListener(this);
  initializeServer(this, typeof options === 'object' && options !== null ? options as Options : {});
  return this;
}
Object.setPrototypeOf(Server, StockServer);
Server.prototype = Object.create(stockServer as object, {
  constructor: { value: Server, writable: true, configurable: true },
}) as object;
defineServerMembers(Server.prototype as object);
enumerateAsNode(Server.prototype as object, sampleServer);
carryOver(Server.prototype as object, 'Server');

/** `http.createServer`. */
export const createServer = carryFunction(http, 'createServer', function createServer(options?: unknown, requestListener?: unknown): unknown {
  return new (Server as unknown as ServerConstructor)(options, requestListener);
}, adoptServer);

/** Makes a server that Node's own constructor has made one of ours, before it listens. */
function adoptServer(server: unknown): void {
  if (!isExactly(server, stockServer as object)) return;
  adopt(server, Server.prototype as object);
  replaceConnectionListener(server as ServerObject);
  initializeServer(server, classesOf(server));
}

/** Whether an object is of a class, and not of one that extends it. */
export function isExactly(object: unknown, prototype: object): object is object {
  return typeof object === 'object' && object !== null && Object.getPrototypeOf(object) === prototype;
}

/** Gives a server another prototype. What Node's constructor set where ours has an accessor goes through that. */
export function adopt(server: object, prototype: object): void {
  const fields = server as Record<string, unknown>;
  const names = [...SETTINGS, '_handle', '_connections'].filter((name) => Object.hasOwn(server, name));
  const values = names.map((name) => fields[name]);
  for (const name of names) delete fields[name];
  Object.setPrototypeOf(server, prototype);
  names.forEach((name, index) => { fields[name] = values[index]; });
}

/** The options of classes that Node's constructor has kept. */
export function classesOf(server: object): Options {
  const kept = (key: symbol, stock: unknown): unknown => {
    const value = (server as Record<symbol, unknown>)[key];
    return value === stock ? undefined : value;
  };
  return { IncomingMessage: kept(kIncomingMessage, StockIncomingMessage), ServerResponse: kept(kServerResponse, StockServerResponse) };
}

/**
 * What a server of ours needs after Node's constructor.
 *
 * @param options as the program gave them
 */
export function initializeServer(server: object, options: object): void {
  const attached = attachmentOf(server);
  attached.beginProtocol = beginHttp1;
  attached.beginStreams = beginStreams;
  if (speaksHttp2()) attached.protocols = BOTH_VERSIONS;
  const { IncomingMessage, ServerResponse } = options as Options;
  const internals = server as Record<symbol, unknown>;
  if (IncomingMessage) attached.incomingMessage = IncomingMessage as AttachedServer['incomingMessage'];
  if (ServerResponse) attached.serverResponse = ServerResponse as AttachedServer['serverResponse'];
  attached.uniqueHeaders = (internals[kUniqueHeaders] ?? null) as Set<string> | null;
  attached.optimizeEmptyRequests = internals[kOptimizeEmptyRequests] === true;
  if (needsStockParser(attached)) {
    leaveToNode(attached, 'A server with lenient HTTP parsing is served by node:http itself: Portico parses strictly.');
  }
  if (maxHeaderSizeOf(attached.server) > HEAD_BYTES) {
    leaveToNode(attached, `A server with a maxHeaderSize above ${HEAD_BYTES} bytes is served by node:http itself: Portico takes no longer heads.`);
  }
}

/** Only llhttp can be told to accept what HTTP forbids. */
function needsStockParser({ server, provider }: AttachedServer): boolean {
  if (provider !== undefined) return false;
  if (server.httpValidation !== undefined) return server.httpValidation !== 'strict';
  return server.insecureHTTPParser ?? insecureByFlag();
}

function insecureByFlag(): boolean {
  const flag = '--insecure-http-parser';
  return process.execArgv.includes(flag) || (process.env['NODE_OPTIONS'] ?? '').split(' ').includes(flag);
}

/** Node's own listener serves duplexes that a program hands in by `emit`; the engine's connections have been served. */
function replaceConnectionListener(server: ServerObject): void {
  standIn(server, 'connection', stockConnectionListener as Listener);
}

/**
 * Puts a listener of ours in the place of Node's own: it leaves the engine's sockets alone, and serves those that a program
 * hands in by `emit`.
 */
export function standIn(server: ServerObject, event: 'connection' | 'secureConnection', stock: Listener): void {
  const listener = function connectionListener(this: ServerObject, socket: object): void {
    if (!(kConnection in socket)) Reflect.apply(stock, this, [socket]);
  };
  // Not by the server's own methods, which agents wrap: it must be found again.
  EventEmitter.prototype.removeListener.call(server, event, stock);
  EventEmitter.prototype.prependListener.call(server, event, listener);
  attachmentOf(server).ownListeners.push([event, listener]);
}

/** Makes a prototype that inherits from Node's one of a server on the engine. */
export function defineServerMembers(prototype: object): void {
  // Looked up at each call: what is replaced there is used.
  const below = Object.getPrototypeOf(prototype) as Record<string, Listener>;
  for (const name of SETTINGS) {
    // Not every version of Node has all of them. `maxConnections` has none until the program gives one.
    if (!(name in sampleServer) && name !== 'maxConnections') continue;
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: object): unknown { return attachmentOf(this).settings[name]; },
      set(this: object, value: never): void { attachmentOf(this).set(name, value); },
    });
  }
  Object.defineProperties(prototype, {
    _handle: {
      configurable: true,
      get(this: object): unknown { return attachmentOf(this).handle; },
      set(this: object, handle: object | null): void {
        const attached = attachmentOf(this);
        attached.handle = handle;
        if (handle !== null) attached.drained = false;
        if (handle !== null && attached.stockReason === undefined && !(handle instanceof PrefixHandle)) interceptHandle(attached, handle);
      },
    },
    _connections: {
      configurable: true,
      get(this: object): number {
        const attached = attachmentOf(this);
        return attached.extraConnections + attached.connectionCount;
      },
      set(this: object, value: number): void {
        const attached = attachmentOf(this);
        attached.extraConnections = value - attached.connectionCount;
      },
    },
  });
  method(prototype, '_emitCloseIfDrained', function emitCloseIfDrained(this: object) {
    const attached = attachmentOf(this);
    attached.drained = attached.handle === null && (this as ServerObject)._connections === 0;
    below._emitCloseIfDrained.call(this);
  });
  method(prototype, 'listen', function listen(this: object, ...args: unknown[]) {
    const prefix = prefixOf(args);
    if (prefix !== undefined) listenOnPrefix(this as ServerObject, prefix, args);
    else if (!listenInWorker(this as ServerObject, args)) return Reflect.apply(below.listen, this, args) as unknown;
    return this;
  });
  for (const name of ['closeAllConnections', 'closeIdleConnections'] as const) {
    method(prototype, name, function closeConnections(this: object) {
      attachmentOf(this)[name]();
      below[name]?.call(this);
    });
  }
  for (const name of ['on', 'addListener', 'prependListener'] as const) {
    method(prototype, name, function listen(this: object, event: string, listener: Listener) {
      below[name].call(this, event, listener);
      // From now on connections are announced when they are accepted.
      if (event === 'connection' || event === 'clientError') attachmentOf(this).scheduleUpdate();
      return this;
    });
  }
  defineRemoval(prototype, below);
}

/** A program that takes the listener of ours away gets the sockets, from now on. */
function defineRemoval(prototype: object, below: Record<string, Listener>): void {
  for (const name of ['removeListener', 'off', 'removeAllListeners'] as const) {
    method(prototype, name, function remove(this: object, ...args: unknown[]) {
      Reflect.apply(below[name], this, args);
      const attached = attachmentOf(this);
      if (attached.listening && attached.stockReason === undefined && !attached.keepsOwnListeners) leaveListening(attached);
      return this;
    });
  }
}

function method(prototype: object, name: string, value: (this: object, ...args: never[]) => unknown): void {
  Object.defineProperty(value, 'name', { value: name });
  Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
}

