/** For how long the engine keeps answers that do not say it themselves. */

/** `PORTICO_CACHE_DURATION` holds something other than a number of seconds. */
export class CacheDurationError extends RangeError {
  readonly code = 'ERR_PORTICO_CACHE_DURATION';
}

/**
 * What `PORTICO_CACHE_DURATION` says, or else `HTTPSYS_CACHE_DURATION`, its name in httpsys; in seconds. 0: the cache is
 * on, for answers that ask for it. `undefined`: neither is set; the cache comes with the first answer that asks.
 *
 * @throws CacheDurationError if the first is no number of seconds. The second one counts, as in httpsys, only if it is.
 */
export function cacheDuration(): number | undefined {
  const text = process.env['PORTICO_CACHE_DURATION'] ?? '';
  if (text === '') return ofHttpsys(process.env['HTTPSYS_CACHE_DURATION']);
  const seconds = Number(text);
  if (!(seconds >= 0 && seconds < Infinity)) {
    throw new CacheDurationError(`PORTICO_CACHE_DURATION is ${JSON.stringify(text)}: write a number of seconds (0: only answers that set res.cacheDuration are kept)`);
  }
  return seconds;
}

/** `PORTICO_CACHE` holds something other than `standard`. */
export class CacheModeError extends RangeError {
  readonly code = 'ERR_PORTICO_CACHE';
}

/**
 * What `PORTICO_CACHE` says: whether answers are kept as their own Cache-Control says.
 *
 * @throws CacheModeError if it is neither empty nor `standard`
 */
export function keepsByCacheControl(): boolean {
  const text = process.env['PORTICO_CACHE'] ?? '';
  if (text !== '' && text !== 'standard') {
    throw new CacheModeError(`PORTICO_CACHE is ${JSON.stringify(text)}: write standard (answers are kept as their Cache-Control says), or unset it`);
  }
  return text === 'standard';
}

/** httpsys takes any numeric value, the empty text included, which is 0 there. */
function ofHttpsys(text: string | undefined): number | undefined {
  const seconds = Number(text);
  return text !== undefined && seconds >= 0 && seconds < Infinity ? seconds : undefined;
}
