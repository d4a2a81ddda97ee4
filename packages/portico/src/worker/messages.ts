/**
 * `process.send('ready')`, `process.on('message')` and `recycle()` in a worker of a process host.
 *
 * Programs that were written for PM2 speak with their process manager as a child that was forked speaks with its parent.
 * There is no such channel here: a host's process may be replaced while its workers live, and `npm` would take it. In a
 * process without a parent of that kind, these words go to the host by the worker's connection. A process that the program
 * has forked itself keeps its own parent.
 */

import process = require('node:process');
import { isMainThread } from 'node:worker_threads';
import { prefixError } from '../host/errors';
import { openWorkerConnection } from './connection';
import { workerEnvironment } from './environment';

type Sent = (error: Error | null) => void;

/** Gives a worker's process what it can say to its host. Does nothing elsewhere. */
export function enterWorker(): void {
  if (!isMainThread || workerEnvironment() === undefined) return;
  process.on('newListener', (event: string | symbol) => {
    if (event === 'message') openWorkerConnection();
  });
  // Forked by a program of the worker: 'message' may come from the host all the same.
  if (process.send !== undefined) return;
  process.send = send as NonNullable<typeof process.send>;
}

/** "ready" is for the host. Anything else is for a parent, and there is none: it goes nowhere, as nothing waits for it. */
function send(message: unknown, ...rest: unknown[]): boolean {
  if (message === 'ready') openWorkerConnection()?.ready();
  const callback = rest.find((argument) => typeof argument === 'function') as Sent | undefined;
  if (callback !== undefined) process.nextTick(callback, null);
  return true;
}

/** Asks the host for a new process in the place of this one. */
export async function recycle(reason?: string): Promise<void> {
  const connection = openWorkerConnection();
  if (connection === undefined) throw notInWorker();
  await connection.recycle(reason === undefined ? undefined : String(reason).slice(0, LONGEST_REASON));
}

/** Characters of a reason that the host is told. */
const LONGEST_REASON = 200;

/** No process host has started this process. */
export function notInWorker(): Error {
  return prefixError('ERR_PORTICO_NO_WORKER', 'This process was not started by a process host, so none can replace it: start it with `portico run`, or as an [[application]] of a host. '
    + 'In a thread, call recycle() on the main thread.');
}
