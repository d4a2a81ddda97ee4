// Starts a program as a process host does: an ordinary command, and a few variables in its environment.

import { join } from 'node:path';
import { startProgram } from './child.mjs';
import { testsFolder } from './mode.mjs';

const register = join(testsFolder, '../packages/portico/dist/register.js');

/** The variables of a worker. `listen`: prefixes by port, as PORTICO_LISTEN has them. */
export function workerEnvironment(host, { id = 'test.0', listen, env = {} }) {
  return {
    ...host.env, NODE_ENV: 'production', PORTICO_WORKER: id, PORTICO_LISTEN: JSON.stringify(listen),
    NODE_OPTIONS: `--require=${JSON.stringify(register)}`, ...env,
  };
}

/**
 * Starts `command`, a list of words, whose server listens on `port` for the prefixes of `listen`; resolves when a line of
 * its output matches `ready`, with what `startProgram` resolves with.
 */
export async function startWorker(host, command, { ready = /^listening/, cwd = testsFolder, ...options }) {
  return startProgram(command, {
    ready, cwd, env: workerEnvironment(host, options), detached: true, started: (worker) => host.members.push({ kill: () => endGroup(worker) }),
  });
}

/** Ends the program and what it has started: `npm` leaves its children behind where it is killed. */
async function endGroup({ pid, kill }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
  await kill();
}
