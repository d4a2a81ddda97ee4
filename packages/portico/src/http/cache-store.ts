/** What is kept of this process's answers: by its own engines, and by hosts. */

import { hostCaches } from '../host/host-caches';
import { loadBinding } from '../native/load';
import type { CacheStats, PurgeKind } from '../native/binding';
import { tagResponse } from './cache-wish';

async function purge(kind: PurgeKind, text: string): Promise<number> {
  const own = loadBinding().purgeCache(kind, text);
  const others = await Promise.all(hostCaches().map((cache) => cache.purge(kind, text)));
  return others.reduce((sum, count) => sum + count, own);
}

/** Of the process's own engines; where it has registered at a host, of that host. */
async function stats(): Promise<CacheStats> {
  const ofHost = await hostCaches()[0]?.stats();
  return ofHost ?? loadBinding().cacheStats();
}

export const store = { purge, stats, tag: (response: object, tags: string[]): void => tagResponse(response, tags) };
