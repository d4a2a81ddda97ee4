// One test file in a process of its own: started, bounded in time and output, and its traces collected.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const OUTPUT_LIMIT = 8 * 1024; // characters kept of each file's output, from its end

const probe = join(import.meta.dirname, '../../node-suite/lib/probe.cjs');

/**
 * Runs one file in `mode` `plain` (and notes whether node:http served a request) or `portico`.
 * Resolves with `{ file, tests, ended, output, served, connections }`: `tests` is a Map from a test's name to
 * `{ outcome, message }`, `ended` is `exit`, `crash` (a signal) or `timeout`. Never rejects.
 */
export async function runFile(file, { mode, slot, suite, dir, node, register, timeoutMs, scratch }) {
  const folder = join(scratch, `${slot}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const results = join(folder, 'results');
  const trace = join(folder, 'trace');
  const child = spawn(node, suite.run(file, results), {
    cwd: dir,
    detached: true, // its own process group, so that its children end with it
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(mode, results, trace, register),
  });
  const { ended, output } = await collect(child, timeoutMs);
  const tests = readResults(results);
  // What never came to an end is a test of its own, so that a file that dies is noticed.
  if (ended !== 'exit') tests.set(`(the file ended by ${ended})`, { outcome: 'fail', message: output });
  return {
    file, tests, ended, output,
    served: mode === 'plain' && existsSync(trace),
    connections: mode === 'portico' ? countConnections(trace) : 0,
  };
}

function environment(mode, results, trace, register) {
  const env = { ...process.env, SUITE_RESULTS: results };
  for (const name of ['NODE_OPTIONS', 'NODE_PATH', 'NODE_DEBUG', 'NODE_TEST_CONTEXT', 'NODE_ENV', 'PORTICO_REQUIRE']) delete env[name];
  if (mode === 'plain') Object.assign(env, { NODE_OPTIONS: `--require ${probe}`, NODE_SUITE_PROBE_FILE: trace });
  else Object.assign(env, { NODE_OPTIONS: `--import ${pathToFileURL(register).href}`, PORTICO_REQUIRE: '1', PORTICO_COUNTERS_FILE: trace });
  return env;
}

function collect(child, timeoutMs) {
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
    const done = (ended) => {
      clearTimeout(timer);
      resolve({ ended, output });
    };
    child.on('error', (error) => {
      keep(String(error));
      done('crash');
    });
    child.on('exit', () => endGroup(child.pid)); // a grandchild would hold the pipes open
    child.on('close', (status, signal) => done(timedOut ? 'timeout' : signal !== null ? 'crash' : 'exit'));
  });
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is empty: everything has ended by itself.
  }
}

/** Results by name; of several tests with one name the second is `name (2)`, and so on. */
function readResults(file) {
  const tests = new Map();
  if (!existsSync(file)) return tests;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue;
    const { name, outcome, message } = JSON.parse(line);
    let key = name;
    for (let count = 2; tests.has(key); count += 1) key = `${name} (${count})`;
    tests.set(key, { outcome, message });
  }
  return tests;
}

function countConnections(file) {
  if (!existsSync(file)) return 0;
  const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
  return lines.reduce((sum, line) => sum + JSON.parse(line).connections, 0);
}
