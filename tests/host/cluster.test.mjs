// A cluster whose workers listen on a URL prefix lives as one does whose workers listen on a port.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { testsFolder } from '../support/mode.mjs';
import { curl, eventually } from '../support/clients.mjs';
import { freePort } from '../support/free-port.mjs';
import { startHost } from '../support/start-host.mjs';

/** Starts the cluster and waits until both workers listen. */
async function startCluster(t, where, { flags = [], env }) {
  const child = spawn(process.execPath, [...flags, join(testsFolder, 'host/apps/cluster-life.cjs'), String(where)], {
    cwd: testsFolder, env, stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const lines = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await eventually(() => lines.includes('listening'), 'the workers listen', 30_000);
  return { child, lines, ended: once(child, 'exit'), workers: lines.find((line) => line.startsWith('workers')).split(' ').slice(1).map(Number) };
}

/** What is told from a disconnect with a request in flight to the end; in an order where Node has one. */
async function disconnectWhileAsked({ child, lines, ended }, url) {
  const answer = curl(url);
  await eventually(() => lines.includes('asked'), 'a worker is asked');
  child.stdin.write('disconnect\n');
  assert.equal(await answer, 'answered');
  assert.deepEqual(await ended, [0, null]);
  const told = lines.filter((line) => !line.startsWith('workers'));
  const position = (line) => told.indexOf(line);
  return {
    told: [...told].sort(),
    lastWord: told.at(-1),
    freeFirst: position('the free worker is disconnected') < position('the held worker is disconnected'),
  };
}

test('a disconnected cluster answers what it has, tells what Node tells, and ends', async (t) => {
  const host = await startHost(t);
  const port = await freePort();
  const hosted = await startCluster(t, `http://*:${host.port}/`, { flags: ['--import', 'portico/register'], env: host.env });
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  const plain = await startCluster(t, port, { env });
  const seen = await disconnectWhileAsked(hosted, host.url);
  const expected = await disconnectWhileAsked(plain, `http://127.0.0.1:${port}`);
  // The host's address is `::`, the plain server's 127.0.0.1.
  seen.told = seen.told.map((line) => line.replace('on 6', 'on 4'));
  assert.deepEqual(seen, expected);
});

test('workers on a prefix end with their primary', async (t) => {
  const host = await startHost(t);
  const { child, ended, workers } = await startCluster(t, `http://*:${host.port}/`, { flags: ['--import', 'portico/register'], env: host.env });
  child.kill('SIGKILL');
  await ended;
  await eventually(() => workers.every((pid) => !isAlive(pid)), 'the workers have ended');
});

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
