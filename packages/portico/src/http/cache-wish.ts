/**
 * What a handler wants kept of its answer: `res.cacheDuration`, and tags.
 *
 * A wish goes to the engine when it is made (`CACHE`), before the head that it is about. Responses without one pay nothing:
 * no field of theirs, no look when they are sent.
 */

import { REQUEST_FLAG_COMPLETE } from '../generated/layout';
import { nodeError } from '../node/error';
import { kExchange, type Exchange } from './exchange';
import { rawHeaders, requestTarget } from './request-fields';
import type { Response } from './server-response';

const TAG = /^[\x21-\x2b\x2d-\x7e]+$/;

/** What was assigned, so that it can be read. */
const durations = new WeakMap<Response, unknown>();

/** Defines `cacheDuration`: for how many seconds the engine keeps the answer and gives it to equal requests. */
export function defineCacheDuration(prototype: object): void {
  Object.defineProperty(prototype, 'cacheDuration', {
    configurable: true,
    enumerable: false,
    get(this: Response): unknown {
      return durations.get(this);
    },
    set(this: Response, value: unknown): void {
      durations.set(this, value);
      const exchange = this[kExchange];
      if (value !== undefined && value !== null && exchange !== undefined) wish(exchange, milliseconds(value), '');
    },
  });
}

/** Gives an answer names by which it can be purged. */
export function tagResponse(response: object, tags: readonly string[]): void {
  for (const tag of tags) {
    if (typeof tag !== 'string' || !TAG.test(tag)) {
      throw nodeError('ERR_INVALID_ARG_VALUE', `A tag is text of visible ASCII characters without commas. Received ${JSON.stringify(tag)}`, TypeError);
    }
  }
  const exchange = (response as Response)[kExchange];
  if (exchange !== undefined && tags.length > 0) wish(exchange, undefined, tags.map((tag) => `${tag}\n`).join(''));
}

/** Seconds, as a number or as text that is one. */
function milliseconds(value: unknown): number {
  const seconds = typeof value === 'string' && value.trim() === '' ? NaN : Number(value);
  if (typeof value !== 'number' && typeof value !== 'string' || !(seconds >= 0)) {
    throw nodeError('ERR_OUT_OF_RANGE', `cacheDuration is a number of seconds, 0 or more. Received ${String(value)}`, RangeError);
  }
  return Math.min(Math.round(seconds * 1000), Number.MAX_SAFE_INTEGER);
}

/** `lifetime` in milliseconds; undefined: nothing is said of it. */
function wish(exchange: Exchange, lifetime: number | undefined, tags: string): void {
  const { connection, connection: { lane }, sequence, method } = exchange;
  if (exchange.headSent || connection.closed || connection.destroying) return;
  const isOlder = lane.useCache(exchange.slab);
  const isKnown = !isOlder || method !== 'GET' || (exchange.flags & REQUEST_FLAG_COMPLETE) === 0;
  const target = isKnown ? '' : requestTarget(exchange);
  lane.writer.cache(connection.token, sequence, lifetime, tags, target, isKnown ? '' : fieldLines(exchange));
}

function fieldLines(exchange: Exchange): string {
  const raw = rawHeaders(exchange);
  let lines = '';
  for (let at = 0; at < raw.length; at += 2) lines += `${raw[at]}: ${raw[at + 1]}\r\n`;
  return lines;
}
