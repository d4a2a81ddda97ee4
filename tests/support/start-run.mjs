// Starts `portico run`, with a control socket in a folder of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startProgram } from './child.mjs';
import { freePort } from './free-port.mjs';
import { testsFolder } from './mode.mjs';
import { portico } from './start-host.mjs';

/**
 * Runs `words`, a program and its arguments, and resolves when `instances` lines of the output match `ready`; with what
 * `startProgram` resolves with, and `{ port, url }`: PORT of the program's environment, and where that is.
 */
export async function startRun(t, words, { instances = 1, ready = /listening/, env = {}, cwd = testsFolder } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-run-'));
  const port = await freePort();
  const own = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, NODE_ENV: 'production', PORT: String(port), ...env };
  for (const name of ['NODE_OPTIONS', 'NODE_TEST_CONTEXT', 'PORTICO_HOST']) delete own[name];
  const [program, ...args] = words;
  const command = [portico, 'run', '--socket', join(folder, 'host.sock'), '--instances', String(instances), program, '--', ...args];
  let left = instances;
  const started = (run) => t.after(async () => {
    await run.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });
  const run = await startProgram(command, { ready: { exec: (line) => (ready.test(line) && --left === 0 ? ready.exec(line) : null) }, started, cwd, env: own });
  return { ...run, port, url: `http://127.0.0.1:${port}` };
}
