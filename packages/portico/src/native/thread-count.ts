/** How many threads the engine gets. */

/** More threads than this are a slip of the pen: the engine keeps memory for each. */
const MOST_THREADS = 64;

/** `PORTICO_THREADS` holds something other than a number of threads. */
export class ThreadCountError extends RangeError {
  readonly code = 'ERR_PORTICO_THREADS';
}

/**
 * What `PORTICO_THREADS` says: 0 (the default, also where it is empty) drives the engine from the event loop.
 *
 * @throws ThreadCountError if it is no whole number from 0 to 64
 */
export function threadCount(): number {
  const text = process.env['PORTICO_THREADS'] ?? '';
  const count = Number(text);
  if (!/^\d*$/.test(text) || count > MOST_THREADS) {
    throw new ThreadCountError(`PORTICO_THREADS is ${JSON.stringify(text)}: write a whole number from 0 (the engine runs in the event loop, the default) to ${MOST_THREADS}`);
  }
  return count;
}
