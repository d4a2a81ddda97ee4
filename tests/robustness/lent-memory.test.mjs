// Large bodies are sent from the program's memory; here that memory is collected, transferred, shrunk and grown meanwhile,
// clients leave, a worker and the process end. scripts/asan.sh runs this file with an add-on and a host that look at each
// access to memory.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { environment, plain, preload, testsFolder } from '../support/mode.mjs';
import { startHost } from '../support/start-host.mjs';

const run = promisify(execFile);
const APP = join(testsFolder, 'robustness/apps/lent-memory.mjs');
const LIMIT_MS = 300_000;

/** What is loaded before the applications: the sanitizer's runtime, which the host has in itself. */
const runtime = process.env.PORTICO_TEST_LD_PRELOAD;

/** Runs the program to its end: it checks itself, and fails if an answer is not what it should be. */
async function runScenes(env, ...args) {
  const own = { ...env, ...(runtime && { LD_PRELOAD: runtime }) };
  delete own.PORTICO_COUNTERS_FILE;
  const { stdout } = await run(process.execPath, ['--expose-gc', ...preload, APP, ...args], { cwd: testsFolder, env: own, timeout: LIMIT_MS });
  assert.match(stdout, /ok: all\n$/);
}

for (const [drive, threads] of plain ? [['node:http', '0']] : [['inline', '0'], ['threaded', '2']]) {
  test(`${drive}: answers come from memory that the program still has, and from no other`, () => runScenes(environment('', { PORTICO_THREADS: threads })));
}

test('hosted: answers come from memory that the program still has, and from no other', { skip: plain }, async (t) => {
  const host = await startHost(t);
  await runScenes(host.env, `${host.url}/`);
  assert.equal(host.child.exitCode, null, host.output());
});
