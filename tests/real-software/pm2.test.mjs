// PM2 in both of its modes: it starts the application, sees it listen, and reloads it while clients ask.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { eventually, request } from '../support/clients.mjs';
import { readCounters } from '../support/counters.mjs';
import { environment, plain, preload, testsFolder } from '../support/mode.mjs';
import { freePort } from '../support/free-port.mjs';
import { startHost } from '../support/start-host.mjs';

const run = promisify(execFile);
const script = join(testsFolder, 'node_modules/pm2/bin/pm2');
/** An answer that takes longer does not come any more. */
const ANSWER_LIMIT_MS = 5000;
const app = join(import.meta.dirname, 'pm2/app.cjs');

/** A PM2 of its own, whose daemon ends with the test. */
function makePm2(t, extra) {
  const home = mkdtempSync(join(tmpdir(), 'portico-pm2-'));
  const counters = join(home, 'counters');
  const env = environment(counters, { PM2_HOME: home, PM2_DISABLE_VERSION_CHECK: 'true', ...extra });
  const pm2 = async (...args) => (await run(process.execPath, [script, ...args], { env, cwd: testsFolder, maxBuffer: 1 << 26 })).stdout;
  t.after(async () => {
    await pm2('kill');
    rmSync(home, { recursive: true, force: true });
  });
  const processes = async () => JSON.parse((await pm2('jlist')).split('\n').at(-1) || '[]');
  return {
    pm2, processes, counters: () => readCounters(counters),
    start: (...args) => pm2('start', app, '--name', 'app', '--interpreter', process.execPath, '--node-args', preload.join(' '), ...args),
  };
}

/** One answer, or the error's code in place of a status. */
function ask(url) {
  return request(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) }).catch((error) => ({ status: error.code ?? error.message }));
}

/** Asks one after the other until told to stop; resolves with the pids that answered, and with what failed. */
async function askUntil(stopped, url) {
  const pids = new Set();
  const failures = [];
  let asked = 0;
  while (!stopped.done) {
    asked += 1;
    const { status, body } = await ask(url);
    if (status === 200) pids.add(Number(String(body)));
    else failures.push(status);
  }
  return { pids, failures, asked };
}

/** Reloads under load: each old process has gone, and each new one answers. */
async function reloadWhileAsked({ pm2, processes }, url) {
  const before = (await processes()).map(({ pid }) => pid);
  const stopped = { done: false };
  const clients = [askUntil(stopped, url), askUntil(stopped, url), askUntil(stopped, url)];
  await pm2('reload', 'app');
  const after = (await processes()).map(({ pid }) => pid);
  assert.ok(after.every((pid) => !before.includes(pid)), 'all processes are new');
  const seen = new Set();
  await eventually(async () => {
    seen.add(Number(String((await ask(url)).body)));
    return after.every((pid) => seen.has(pid));
  }, 'each new process answers');
  stopped.done = true;
  const results = await Promise.all(clients);
  assert.ok(results.every(({ asked }) => asked > 3), 'there was load');
  return results.flatMap(({ failures }) => failures);
}

async function answersFrom(url, count) {
  const pids = new Set();
  await eventually(async () => {
    const answer = await ask(url);
    if (answer.status === 200) pids.add(String(answer.body));
    return pids.size === count;
  }, `${count} processes answer`, 30_000);
}

test('fork mode: the application answers, and again after a restart', async (t) => {
  const port = await freePort();
  const own = makePm2(t, { LISTEN: String(port) });
  await own.start();
  const url = `http://127.0.0.1:${port}/`;
  await answersFrom(url, 1);
  const [{ pid }] = await own.processes();
  await own.pm2('restart', 'app');
  await eventually(async () => {
    const answer = await ask(url);
    return answer.status === 200 && Number(String(answer.body)) !== pid;
  }, 'the new process answers');
  await own.pm2('stop', 'app');
  if (!plain) assert.ok(own.counters().connections > 0, 'the engine served');
});

test('cluster mode: a reload under load replaces the processes', async (t) => {
  const port = await freePort();
  const own = makePm2(t, { LISTEN: String(port) });
  await own.start('--instances', '2');
  const url = `http://127.0.0.1:${port}/`;
  await answersFrom(url, 2);
  // Node's primary loses a connection that it hands to a worker that is just ending, on node:http as well: the client is
  // reset, or waits. So what failed is not looked at; on a URL prefix, below, nothing may fail.
  await reloadWhileAsked(own, url);
  if (!plain) assert.ok(own.counters().connections > 0, 'the engine served');
});

test('cluster mode on a URL prefix: a reload under load fails no request', { skip: plain && 'node:http has no hosts' }, async (t) => {
  const host = await startHost(t);
  const own = makePm2(t, { ...host.env, LISTEN: `http://*:${host.port}/` });
  await own.start('--instances', '2');
  const url = `${host.url}/`;
  await answersFrom(url, 2);
  assert.deepEqual(await reloadWhileAsked(own, url), []);
});
