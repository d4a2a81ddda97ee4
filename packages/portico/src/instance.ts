/**
 * The one Portico of a JavaScript realm.
 *
 * A program may load several copies of this package (two versions in `node_modules`, a bundler's copy, a test runner
 * with module registries of its own). Node's `http` exists once, so the first copy that is loaded serves them all. It
 * is kept on the exports object of `node:http`, which every copy sees, under a registered symbol.
 */

import { syncBuiltinESMExports } from 'node:module';
import type { Store } from './cache';
import { decide, type Status } from './fallback';
import { VERSION } from './native/load';
import { enterWorker, notInWorker, recycle } from './worker/messages';

type Http = typeof import('node:http');
type Https = typeof import('node:https');
type Http2 = typeof import('node:http2');

/** What all copies of the package agree on. Only additions are allowed: copies of other versions call it. */
export interface Instance {
  readonly version: string;
  status(): Status;
  /** A module object of the shape of `node:http` whose server side is the engine's; always the same one. */
  http(): Http;
  https(): Https;
  http2(): Http2;
  /** Asks the process host for a new process in the place of this one. */
  recycle(reason?: string): Promise<void>;
  /** Puts the engine's server side into `node:http`, `node:https` or `node:http2` itself. A second call does nothing. */
  replace(name: 'http' | 'https' | 'http2'): void;
  /** What the engine keeps of answers. */
  cache(): Store;
}

const KEY = Symbol.for('portico.instance');

// eslint-disable-next-line @typescript-eslint/no-require-imports
const nodeHttp = require('node:http') as Http & { [KEY]?: Instance };
// eslint-disable-next-line @typescript-eslint/no-require-imports
const nodeHttps = require('node:https') as Https;

/** The realm's Portico, made at the first call. */
export function instance(): Instance {
  const existing = nodeHttp[KEY];
  if (existing !== undefined) return existing;
  const status = decide();
  const made = status.active ? new EngineInstance() : new StockInstance(status);
  if (status.active) enterWorker();
  Object.defineProperty(nodeHttp, KEY, { value: made, enumerable: false, configurable: true });
  if (status.active) Reflect.defineProperty(process.versions, 'portico', { value: VERSION, enumerable: true });
  return made;
}

const NOTHING_KEPT: Store = {
  purge: () => Promise.resolve(0),
  stats: () => Promise.resolve({
    hits: 0, collapsed: 0, misses: 0, entries: 0, bytes: 0, budgetBytes: 0, stored: 0, evicted: 0, expired: 0, purged: 0,
  }),
  tag: () => { /* Node's own server keeps nothing. */ },
};

/** Node's own modules, where the engine can't be used. */
class StockInstance implements Instance {
  readonly version = VERSION;
  readonly #status: Status;

  constructor(status: Status) {
    this.#status = status;
  }

  status(): Status {
    return { ...this.#status };
  }

  http(): Http {
    return nodeHttp;
  }

  https(): Https {
    return nodeHttps;
  }

  http2(): Http2 {
    return nodeHttp2();
  }

  replace(): void {
    // node:http stays.
  }

  cache(): Store {
    return NOTHING_KEPT;
  }

  async recycle(): Promise<void> {
    throw notInWorker();
  }
}

/** The engine's server side, made when first asked for. */
class EngineInstance implements Instance {
  readonly version = VERSION;
  #http: Http | undefined;
  #https: Https | undefined;
  #http2: Http2 | undefined;
  readonly #replaced = new Set<string>();

  status(): Status {
    return { active: true };
  }

  http(): Http {
    this.#http ??= overlay(nodeHttp, serverSideOfHttp());
    return this.#http;
  }

  https(): Https {
    this.#https ??= overlay(nodeHttps, serverSideOfHttps());
    return this.#https;
  }

  recycle(reason?: string): Promise<void> {
    return recycle(reason);
  }

  http2(): Http2 {
    this.#http2 ??= overlay(nodeHttp2(), serverSideOfHttp2());
    return this.#http2;
  }

  replace(name: 'http' | 'https' | 'http2'): void {
    if (this.#replaced.has(name)) return;
    this.#replaced.add(name);
    if (name === 'http2') return replaceHttp2();
    // The module objects are copies of Node's exports: make them before those are written to.
    this.http();
    this.https();
    if (name === 'http') Object.assign(nodeHttp, serverSideOfHttp());
    else Object.assign(nodeHttps, serverSideOfHttps());
    syncBuiltinESMExports();
  }

  cache(): Store {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return (require('./http/cache-store') as { store: Store }).store;
  }
}

function serverSideOfHttp(): Partial<Http> {
  // Loaded here and not above: where the engine can't be used none of it must run.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { Server, ServerResponse, IncomingMessage, createServer, missingMasks } = require('./http/index') as Http & { missingMasks: object };
  return { Server, ServerResponse, IncomingMessage, createServer, ...missingMasks } as Partial<Http>;
}

function serverSideOfHttps(): Partial<Https> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { Server, createServer } = require('./https/index') as Https;
  return { Server, createServer } as Partial<Https>;
}

/** Loaded where it is asked for: programs that do without pay nothing for it. */
function nodeHttp2(): Http2 {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return require('node:http2') as Http2;
}

function serverSideOfHttp2(): Partial<Http2> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { createSecureServer, createServer } = require('./http2/index') as Http2;
  return { createSecureServer, createServer } as Partial<Http2>;
}

/** Puts ours into `node:http2`. They are loaded where a server is made: few programs have one. */
function replaceHttp2(): void {
  // Before Node's own can't be found there any more.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  require('./node/http2-servers');
  const lazy = {
    createServer: (...args: unknown[]) => Reflect.apply(serverSideOfHttp2().createServer as () => object, undefined, args),
    createSecureServer: (...args: unknown[]) => Reflect.apply(serverSideOfHttp2().createSecureServer as () => object, undefined, args),
  };
  Object.assign(nodeHttp2(), lazy);
  syncBuiltinESMExports();
}

/** A copy of a module's exports, accessors included, with some of them replaced. */
function overlay<Module extends object>(module: Module, replacements: Partial<Module>): Module {
  const copy = Object.create(Object.getPrototypeOf(module) as object, Object.getOwnPropertyDescriptors(module)) as Module;
  return Object.assign(copy, replacements);
}
