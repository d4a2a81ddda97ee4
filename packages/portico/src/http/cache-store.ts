/** The process's cache, as `cache` of the package asks for it. */

import { loadBinding } from '../native/load';
import type { CacheStats, PurgeKind } from '../native/binding';
import { tagResponse } from './cache-wish';

export const store = {
  purge: (kind: PurgeKind, text: string): Promise<number> => Promise.resolve(loadBinding().purgeCache(kind, text)),
  stats: (): Promise<CacheStats> => Promise.resolve(loadBinding().cacheStats()),
  tag: (response: object, tags: string[]): void => tagResponse(response, tags),
};
