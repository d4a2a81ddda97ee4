/**
 * Runs ticks and microtasks between two events of a batch.
 *
 * Node's own way is undocumented (`process._tickCallback`, what its timers use between two of them); where it is missing
 * the add-on's callback scope runs everything once, behind the batch.
 */

import process = require('node:process');
import { inspect } from 'node:util';

interface Internals {
  _tickCallback?: () => void;
  /** Emits 'uncaughtException' and puts the stack of asynchronous contexts in order; false: no listener handled it. */
  _fatalException?: (error: unknown) => boolean;
  reallyExit?: (code: number) => never;
}

const internals = process as unknown as Internals;
const { _tickCallback: tickCallback } = internals;
const isPossible = tickCallback !== undefined && internals._fatalException !== undefined;

/**
 * Runs what is queued. An exception in it is the process's ('uncaughtException'), and does not come out of here: false
 * says that there was one.
 */
export function drainTicks(): boolean {
  if (!isPossible) return true;
  try {
    (tickCallback as () => void).call(process);
    return true;
  } catch (error) {
    // A tick that throws leaves its context on the stack. Thrown on, it would end the process with a complaint about
    // that in place of the error; what native code calls for an uncaught exception clears the stack first.
    if (!(internals._fatalException as (error: unknown) => boolean)(error)) die(error);
    return false;
  }
}

/** The end that Node's native side gives a process for an exception that no listener handles. 'exit' has been emitted. */
function die(error: unknown): void {
  const text = error instanceof Error && error.stack !== undefined ? error.stack : `Uncaught:\n${inspect(error)}`;
  process.stderr.write(`${text}\n\nNode.js ${process.version}\n`);
  internals.reallyExit?.(Number(process.exitCode ?? 1));
}
