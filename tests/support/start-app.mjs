// Starts an application under test as a real child process and stops it at the end of the test.
//
// An application prints one line `listening on <port>` (what else it prints is kept for messages).

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endChild, startNode } from './child.mjs';
import { readCounters } from './counters.mjs';
import { environment, plain, preload, preloadByRequire, testsFolder } from './mode.mjs';

const READY = /^listening on (\d+)$/;
const exitHelper = join(import.meta.dirname, 'exit-on-sigterm.cjs');

/**
 * Starts `file` (a path below tests/) and resolves once it listens, with `{ port, url, pid, child, output(), stop() }`.
 *
 * `t` is the test's context: the application is stopped after the test, and unless `engine` is false
 * the test fails if Portico's engine took no connection in it. `ready` finds the port in a line. `commandLine` makes
 * Node's flags from the two ways to load Portico, where their place among other flags matters.
 */
export async function startApp(t, file, { env = {}, args = [], flags = [], commandLine, engine = true, ready = READY } = {}) {
  const scratch = mkdtempSync(join(tmpdir(), 'portico-app-'));
  const counters = join(scratch, 'counters');
  const allFlags = commandLine === undefined ? [...flags, ...preload] : commandLine({ byImport: preload, byRequire: preloadByRequire });
  const { child, match, output } = await startNode([...allFlags, '--require', exitHelper, join(testsFolder, file), ...args], {
    ready, cwd: testsFolder, env: environment(counters, { PORT: '0', NODE_ENV: 'production', ...env }),
  });
  const port = Number(match[1]);
  let stopped;
  const stop = () => (stopped ??= endChild(child).then(() => {
    const sum = readCounters(counters);
    rmSync(scratch, { recursive: true, force: true });
    return sum;
  }));
  t.after(async () => {
    const sum = await stop();
    if (engine && !plain) assert.ok(sum.connections > 0, `the engine served nothing; output:\n${output()}`);
  });
  return { port, url: `http://127.0.0.1:${port}`, pid: child.pid, child, output, stop };
}
