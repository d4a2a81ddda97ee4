/** Stacks of errors as Node has them: they begin with the method that the program called, and not with what that called. */

import { dirname } from 'node:path';

/** Where Portico's own code lies. */
const OWN_FOLDER = dirname(__dirname);
const FRAME = /^ {4}at /;
/** A method of a class, as stacks name it. */
const METHOD = /^ {4}at (?:async )?[A-Z][\w$]*\.[\w$]/;

/** Takes the frames above the first method of ours off an error's stack. Returns the error. */
export function beginAtMethod<Thrown>(error: Thrown): Thrown {
  const stack: unknown = (error as { stack?: unknown } | null)?.stack;
  // Programs that format stacks themselves get them as they are.
  if (typeof stack !== 'string') return error;
  const lines = stack.split('\n');
  const first = lines.findIndex((line) => FRAME.test(line));
  const method = lines.findIndex((line) => METHOD.test(line) && line.includes(OWN_FOLDER));
  if (first < 0 || method <= first) return error;
  lines.splice(first, method - first);
  Object.defineProperty(error, 'stack', { value: lines.join('\n'), writable: true, configurable: true, enumerable: false });
  return error;
}

/** Calls a method of Node's on behalf of one of ours: what it throws is as if the program had called it. */
export function callStock<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw beginAtMethod(error);
  }
}
