// Starts an application under test as a real child process and stops it at the end of the test.
//
// An application prints one line `listening on <port>` (what else it prints is kept for messages).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readCounters } from './counters.mjs';
import { environment, plain, preload, preloadByRequire, testsFolder } from './mode.mjs';

const READY = /^listening on (\d+)$/;
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 10_000;
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
  const child = spawn(process.execPath, [...allFlags, '--require', exitHelper, join(testsFolder, file), ...args], {
    cwd: testsFolder,
    env: environment(counters, { PORT: '0', NODE_ENV: 'production', ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = [];
  const port = await listeningPort(child, lines, ready);
  let stopped;
  const stop = () => (stopped ??= stopChild(child).then(() => {
    const sum = readCounters(counters);
    rmSync(scratch, { recursive: true, force: true });
    return sum;
  }));
  t.after(async () => {
    const sum = await stop();
    if (engine && !plain) assert.ok(sum.connections > 0, `the engine served nothing; output:\n${lines.join('\n')}`);
  });
  return { port, url: `http://127.0.0.1:${port}`, pid: child.pid, child, output: () => lines.join('\n'), stop };
}

function listeningPort(child, lines, ready) {
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`the application ${why}; output:\n${lines.join('\n')}`));
    const timer = setTimeout(fail, START_LIMIT_MS, 'did not listen in time');
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        const match = ready.exec(line);
        if (!match) return;
        clearTimeout(timer);
        resolve(Number(match[1]));
      });
    }
    child.once('exit', (status, signal) => {
      clearTimeout(timer);
      fail(`ended with ${status ?? signal}`);
    });
  });
}

async function stopChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  child.kill('SIGTERM');
  await once(child, 'exit');
  clearTimeout(timer);
}
