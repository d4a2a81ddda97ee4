/** `cache` of the package: what the engine keeps of answers, and how it is given up. */

import type { CacheStats, PurgeKind } from './native/binding';

export type { CacheStats } from './native/binding';

/** Which answers are given up: exactly one of these. */
export type Purge =
  /** Those of one URL with its query, in all their variants; of a path (`/a?b`), on each host. */
  | { url: string }
  /** Those whose URL begins so; of a path, on each host. */
  | { prefix: string }
  /** Those that carry this tag. */
  | { tag: string }
  /** All. */
  | { all: true };

/** The answers that the engine keeps for this process. */
export interface Cache {
  /**
   * Gives answers up. Every request that begins when the promise is fulfilled is answered anew, on all threads of the
   * engine, and an answer that was on its way before is not kept.
   *
   * @returns how many answers went
   */
  purge(what: Purge): Promise<number>;
  /** What the cache has done since the process began, and what it holds. */
  stats(): Promise<CacheStats>;
  /** Gives the answer names by which it can be purged. Before its head is sent. */
  tag(response: object, ...tags: string[]): void;
}

/** What the engine does for a cache. */
export interface Store {
  purge(kind: PurgeKind, text: string): Promise<number>;
  stats(): Promise<CacheStats>;
  tag(response: object, tags: string[]): void;
}

const URL_PARTS = /^(https?):\/\/([^/?#]+)([^#]*)/i;
const KINDS: readonly PurgeKind[] = ['url', 'prefix', 'tag', 'all'];

/** The cache of a store that is looked up when it is needed. */
export function cacheOf(store: () => Store): Cache {
  return {
    async purge(what) {
      const kinds = KINDS.filter((kind) => (what as Record<string, unknown> | undefined)?.[kind] !== undefined);
      const [kind] = kinds;
      const value = (what as Record<string, unknown> | undefined)?.[kind];
      if (kinds.length !== 1 || typeof value !== (kind === 'all' ? 'boolean' : 'string')) {
        throw new TypeError('cache.purge() takes an object with one of url, prefix and tag, which is a string, or with all: true');
      }
      if (kind === 'all') return value === true ? store().purge(kind, '') : 0;
      return store().purge(kind, kind === 'tag' ? value as string : asKept(value as string, kind));
    },
    async stats() {
      return store().stats();
    },
    tag(response, ...tags) {
      store().tag(response, tags);
    },
  };
}

/** A URL as answers are found by it: host in small letters, no port where it is the scheme's own, no fragment. */
function asKept(text: string, kind: 'url' | 'prefix'): string {
  if (text.startsWith('/')) return text.replace(/#.*/s, '');
  const [, scheme, host, rest] = URL_PARTS.exec(text) ?? [];
  if (scheme === undefined) throw new TypeError(`cache.purge() takes a URL of http or https, or a path. Received ${JSON.stringify(text)}`);
  const secure = scheme.toLowerCase() === 'https';
  // The beginning of a URL may end within its host or port.
  const isWhole = kind === 'url' || rest !== '';
  const authority = isWhole ? host.toLowerCase().replace(secure ? /:443$/ : /:80$/, '') : host.toLowerCase();
  const path = rest.startsWith('/') || !isWhole ? rest : `/${rest}`;
  return `${scheme.toLowerCase()}://${authority}${path}`;
}
