/**
 * Starts a host where none is running: a process of its own, which outlives this one and ends when no process needs it.
 */

import { spawn } from 'node:child_process';
import { accessSync, constants, closeSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadBinding } from '../native/load';
import { installAdvice } from '../native/platform';
import { prefixError } from './errors';
import { programs } from './places';

/** Bytes of the log that an error quotes. */
const LOG_TAIL = 2000;

/** A host that was asked to start. */
export interface StartingHost {
  /** Undefined while it runs; what it said if it ended at once. */
  readonly failure: Error | undefined;
}

/** Starts the program with a control socket. Throws an error with a code if there is no program. */
export function startHost(socket: string): StartingHost {
  const program = findProgram();
  const log = join(dirname(socket), 'host.log');
  const output = openLog(socket, log);
  const state: { failure: Error | undefined } = { failure: undefined };
  try {
    const child = spawn(program, ['host', '--on-demand', '--socket', socket], {
      detached: true, stdio: ['ignore', output, output], cwd: '/',
    });
    child.on('error', (error) => {
      state.failure = prefixError('ERR_PORTICO_NO_HOST', `The host ${program} can't be started: ${error.message}. Name another program with PORTICO_PROGRAM. ${installAdvice()}`);
    });
    child.on('exit', (status, signal) => {
      // 0: another one was faster.
      if (status === 0) return;
      state.failure = prefixError('ERR_PORTICO_NO_HOST',
        `The host ${program} ended at once (${signal ?? `exit code ${status}`}): ${tailOf(log)}. Run \`portico host --socket ${socket}\` to see why.`);
    });
    child.unref();
  } finally {
    closeSync(output);
  }
  return state;
}

/** In a folder that other users may write to, one of them could stand in for the host: none is started there. */
function openLog(socket: string, log: string): number {
  try {
    return loadBinding().openHostLog(socket, log);
  } catch (error) {
    throw prefixError('ERR_PORTICO_HOST_FOLDER', `No host is started: ${(error as Error).message}.`);
  }
}

function findProgram(): string {
  const files = programs();
  for (const file of files) {
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // The next one.
    }
  }
  throw prefixError('ERR_PORTICO_NO_HOST',
    'No Portico host is running, and the program `portico` that would be started was not found '
    + `(${files.slice(0, 2).join(', ')}, PATH). ${installAdvice()} PORTICO_PROGRAM names another one.`);
}

function tailOf(log: string): string {
  try {
    return readFileSync(log, 'utf8').slice(-LOG_TAIL).trim() || 'it said nothing';
  } catch {
    return `see ${log}`;
  }
}
