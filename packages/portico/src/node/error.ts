/** Errors that look like Node's own. */

import { beginAtMethod } from './stack';

type ErrorConstructorLike = new (message: string) => Error;

/** An error as Node's own look: `name` stays the class's, `code` is set, the stack names both. */
export function nodeError(code: string, message: string, Base: ErrorConstructorLike = Error): Error & { code: string } {
  const error = new Base(message) as Error & { code: string };
  Error.captureStackTrace?.(error, nodeError);
  Object.defineProperty(error, 'name', { value: `${error.name} [${code}]`, configurable: true, writable: true });
  // The stack is formatted at its first reading, with the name of that moment.
  beginAtMethod(error);
  delete (error as { name?: string }).name;
  error.code = code;
  Object.defineProperty(error, 'toString', {
    value(this: Error): string { return `${this.name} [${code}]: ${this.message}`; },
    configurable: true, writable: true, enumerable: false,
  });
  return error;
}
