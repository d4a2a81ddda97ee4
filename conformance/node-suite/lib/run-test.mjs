// One test in a process of its own: started, bounded in time and output, and its traces collected.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const OUTPUT_LIMIT = 16 * 1024; // characters kept of each test's output, from its end
// Each slot owns 50 ports, below the ephemeral range; runners at the same time have ranges of their own.
const FIRST_PORT = 12_000 + (process.pid % 40) * 500;

const probe = join(import.meta.dirname, 'probe.cjs');
const http2 = join(import.meta.dirname, 'http2.cjs');

/**
 * Runs one test.
 *
 * `mode` is `plain`, `probe` (plain, and notes whether node:http served a request) or `portico`.
 * `slot` numbers the tests that run at the same time, so that ports and folders differ.
 * Resolves with `{ name, outcome, milliseconds, output, served, counters }`, where outcome is
 * `pass`, `skip`, `fail`, `crash` (a signal) or `timeout`. Never rejects.
 */
export function runTest(test, { mode, slot, node, register, timeoutMs, scratch }) {
  const folder = join(scratch, `${slot}`);
  mkdirSync(folder, { recursive: true });
  const trace = join(folder, 'trace');
  rmSync(trace, { force: true });
  const args = [...preload(mode, register, test), ...test.flags, test.file];
  const child = spawn(node, args, {
    cwd: dirname(dirname(test.file)),
    detached: true, // its own process group, so that its children end with it
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(test, { mode, register, slot, folder, trace }),
  });
  return collect(child, timeoutMs).then((ended) => ({
    name: test.name,
    ...ended,
    served: mode === 'probe' && existsSync(trace),
    counters: mode === 'portico' ? readCounters(trace) : null,
  }));
}

function preload(mode, register, test) {
  if (mode === 'probe') return ['--require', probe];
  if (mode === 'plain') return [];
  if (/\/test-http2-/.test(test.name)) return ['--require', register, '--require', http2];
  // Tests of async_hooks count every hook call, and fail with any --import, even of an empty file.
  if (test.name.startsWith('async-hooks/')) return ['--require', register];
  return ['--import', pathToFileURL(register).href];
}

function environment(test, { mode, register, slot, folder, trace }) {
  const env = { ...process.env, ...test.env };
  // What would change a test's meaning if it leaked in from the caller.
  for (const name of ['NODE_OPTIONS', 'NODE_PATH', 'NODE_DEBUG', 'SUITE', 'PORTICO_REQUIRE']) delete env[name];
  Object.assign(env, {
    TEST_THREAD_ID: String(slot),
    TEST_SERIAL_ID: String(slot),
    NODE_TEST_DIR: folder,
    NODE_COMMON_PORT: String(FIRST_PORT + slot * 50),
  });
  if (test.parallel) env.TEST_PARALLEL = '1';
  if (mode === 'portico') Object.assign(env, { PORTICO_REQUIRE: '1', PORTICO_COUNTERS_FILE: trace, NODE_SUITE_REGISTER: register });
  if (mode === 'probe') env.NODE_SUITE_PROBE_FILE = trace;
  return env;
}

function collect(child, timeoutMs) {
  const started = performance.now();
  let output = '';
  let timedOut = false;
  const keep = (chunk) => {
    output = (output + chunk).slice(-OUTPUT_LIMIT);
  };
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const timer = setTimeout(() => {
    timedOut = true;
    endGroup(child.pid);
  }, timeoutMs);
  return new Promise((resolve) => {
    const done = (outcome) => {
      clearTimeout(timer);
      resolve({ outcome, milliseconds: Math.round(performance.now() - started), output });
    };
    child.on('error', (error) => {
      keep(String(error));
      done('fail');
    });
    child.on('exit', () => endGroup(child.pid)); // a grandchild would hold the pipes open
    child.on('close', (status, signal) => {
      if (timedOut) done('timeout');
      else if (signal !== null) done('crash');
      else if (status !== 0) done('fail');
      else done(/^1\.\.0 # Skipped/m.test(output) ? 'skip' : 'pass');
    });
  });
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is empty: everything has ended by itself.
  }
}

/** Sums the lines that the test's processes appended as they ended. */
function readCounters(file) {
  const sum = { processes: 0, connections: 0, requests: 0 };
  if (!existsSync(file)) return sum;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue;
    const { connections, requests } = JSON.parse(line);
    sum.processes += 1;
    sum.connections += connections;
    sum.requests += requests;
  }
  return sum;
}
