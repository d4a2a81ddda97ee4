/**
 * `console.log(req)` and `util.inspect(res)`: what Node's objects have as properties of their own is looked up here only
 * when it is asked for, so it is gathered for the print. Nothing is made for it that the program has not touched: no
 * socket, no stream state.
 */

import { inspect } from 'node:util';

type Inspected = Record<string | symbol, unknown>;

/** Names of Node's own properties that a request's print shows. */
export const REQUEST_NAMES: readonly string[] = ['httpVersionMajor', 'httpVersionMinor', 'httpVersion', 'complete', 'rawHeaders',
  'rawTrailers', 'aborted', 'upgrade', 'url', 'method', 'statusCode', 'statusMessage'];
/** Likewise, of a response's. */
export const RESPONSE_NAMES: readonly string[] = ['statusCode', 'statusMessage', 'destroyed', 'chunkedEncoding', 'shouldKeepAlive',
  'sendDate', 'strictContentLength', '_header'];

/** What stands for an object in its print. One for each, so that `inspect` sees where objects name each other in a circle. */
const views = new WeakMap<object, object>();

/** Defines what is printed of objects that have a property `key`, which is left out, and what `names` names. */
export function definePrinting(prototype: object, key: symbol, names: readonly string[]): void {
  Object.defineProperty(prototype, inspect.custom, {
    value(this: Inspected): object {
      // An object that Node's constructor made says everything by itself.
      return this[key] === undefined ? this : viewOf(this, key, names);
    },
    writable: true, configurable: true,
  });
}

function viewOf(object: Inspected, key: symbol, names: readonly string[]): object {
  let view = views.get(object);
  if (view === undefined) {
    // Of the same class, and printed as it is.
    view = Object.create(Object.getPrototypeOf(object) as object, { [inspect.custom]: { value: undefined } }) as object;
    views.set(object, view);
  }
  for (const name of names) show(view, name, object[name]);
  for (const name of Reflect.ownKeys(object)) if (name !== key) show(view, name, object[name]);
  return view;
}

function show(view: object, name: string | symbol, value: unknown): void {
  Object.defineProperty(view, name, { value, enumerable: true, configurable: true });
}
