/**
 * `require('portico')`: puts the engine under Node's `http` and `https` (and `http2`), for the whole process or beside them.
 */

import { cacheOf, type Cache } from './cache';
import { instance } from './instance';
import type { Status } from './fallback';

export type { Cache, CacheStats, Purge } from './cache';
export type { Status } from './fallback';
export { slipstream } from './slipstream';

type Http = typeof import('node:http');
type Https = typeof import('node:https');
type Http2 = typeof import('node:http2');

/** A function that gives a module, and can put it in the place of Node's own. */
export interface ModuleOf<Module> {
  /** A module object of the shape of Node's, whose server side is the engine's. Node's own module stays as it is. */
  (): Module;
  /** Replaces the server side of Node's own module. A second call does nothing. */
  slipstream(): void;
}

/** `node:http` on the engine: `require('portico').http().createServer(...)`. */
export const http: ModuleOf<Http> = Object.assign(() => instance().http(), {
  slipstream: () => instance().replace('http'),
});

/** `node:https` on the engine. */
export const https: ModuleOf<Https> = Object.assign(() => instance().https(), {
  slipstream: () => instance().replace('https'),
});

/** `node:http2` on the engine. Its client is Node's. */
export const http2: ModuleOf<Http2> = Object.assign(() => instance().http2(), {
  slipstream: () => instance().replace('http2'),
});

/**
 * Asks the process host that has started this process for a new one in its place. The new one is ready before this one is
 * told to end (docs/workers.md).
 *
 * @param reason is shown in the host's log
 * @returns resolves when the host has heard it
 * @throws (rejects) `ERR_PORTICO_NO_WORKER` in a process that no process host has started, or the host's own code
 */
export function recycle(reason?: string): Promise<void> {
  return instance().recycle(reason);
}

/** Whether servers run on the engine, and if not, why. */
export function status(): Status {
  return instance().status();
}

/** The answers that the engine keeps: purging them, counting them, and naming them. */
export const cache: Cache = cacheOf(() => instance().cache());
