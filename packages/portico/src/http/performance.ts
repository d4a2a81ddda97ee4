/**
 * Performance entries of type 'http'.
 *
 * Node makes them inside its own response objects, and does not tell whether they are wanted. So a program's call of
 * `PerformanceObserver.observe` is noted, and from then on each response has a response of Node's own behind it, which
 * never sends anything and measures.
 */

import { PerformanceObserver } from 'node:perf_hooks';
import type { Request } from './incoming-message';
import type { Response } from './server-response';
import { StockServerResponse } from './stock';

/** A response of Node's own. */
interface Measure {
  socket: unknown;
  statusCode: number;
  statusMessage: string | undefined;
  setHeader(name: string, value: unknown): void;
  _finish(): void;
}

interface ObserveOptions {
  type?: string;
  entryTypes?: readonly string[];
}

let observed = false;
const measures = new WeakMap<Response, Measure>();

/** Whether the program ever asked for entries of type 'http'. */
export function isMeasured(): boolean {
  return observed;
}

/** Begins the entry of a response. */
export function beginMeasure(request: Request, response: Response): void {
  measures.set(response, new (StockServerResponse as new (request: Request) => Measure)(request));
}

/** Ends it. */
export function endMeasure(response: Response): void {
  const measure = measures.get(response);
  if (measure === undefined) return;
  measures.delete(response);
  measure.socket = {};
  measure.statusCode = response.statusCode;
  measure.statusMessage = response.statusMessage;
  for (const [name, value] of Object.entries(response.getHeaders())) measure.setHeader(name, value);
  measure._finish();
}

const { observe } = PerformanceObserver.prototype;
Object.defineProperty(PerformanceObserver.prototype, 'observe', {
  value: function observeNoted(this: PerformanceObserver, options: ObserveOptions): void {
    Reflect.apply(observe, this, [options]);
    if (options.type === 'http' || options.entryTypes?.includes('http') === true) observed = true;
  },
  writable: true, configurable: true, enumerable: true,
});
