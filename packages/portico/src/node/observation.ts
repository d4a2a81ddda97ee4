/**
 * Whether the program could tell that an event was emitted.
 *
 * What the program can't see is not done: most responses end without a listener, most requests are never read. A listener is one
 * way to see; agents have another, and put a function of their own in the place of `emit`: on the object, on its class, or
 * on any prototype up to `EventEmitter`'s. One look at `emit` finds them all, and costs what a look at a field costs.
 */

import { EventEmitter } from 'node:events';
import { isNodesOwn } from './pristine';

/** What is looked at. */
interface Emitter {
  readonly _events?: unknown;
  readonly emit: unknown;
}

const { emit } = EventEmitter.prototype;
/** Node's own `emit`; none is if it was replaced before Portico was loaded. */
const stockEmit = isNodesOwn(emit) ? emit : undefined;

/** Whether the program has put an `emit` of its own where the object finds it. */
export function hasPatchedEmit(emitter: Emitter): boolean {
  return emitter.emit !== stockEmit;
}

/** Whether an event of a request or response that Node's constructor has not run on could be seen. */
export function isObserved(emitter: Emitter): boolean {
  return emitter._events !== undefined || emitter.emit !== stockEmit;
}

/** Whether an event of a server can be seen, which has so many listeners of its own for it. */
export function isHeard(server: Emitter & { listenerCount(event: string): number }, event: string, own = 0): boolean {
  return server.listenerCount(event) > own || server.emit !== stockEmit;
}
