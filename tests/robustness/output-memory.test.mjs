// What clients that ask for much and do not read cost a server: no more than on node:http, half as much again and 30 MB.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import net from 'node:net';
import { test } from 'node:test';
import { eventually, request } from '../support/clients.mjs';
import { plain } from '../support/mode.mjs';
import { startApp } from '../support/start-app.mjs';

const MB = 1 << 20;
const APP = 'robustness/apps/large-shared.cjs';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** How clients ask: how many there are, and how often each asks at once. */
const LOADS = {
  'four clients that pipeline 200 requests': { clients: 4, requests: 200 },
  'a hundred clients': { clients: 100, requests: 1 },
};

for (const [name, load] of Object.entries(LOADS)) {
  test(`${name} for 10 MB and do not read cost what they cost on node:http`, async (t) => {
    const node = await costOf(t, load, { commandLine: () => [], engine: false, env: { PORTICO_REQUIRE: '' } });
    const drives = plain ? {} : { inline: {}, threaded: { PORTICO_THREADS: '1' } };
    for (const [drive, env] of Object.entries(drives)) {
      const ours = await costOf(t, load, { env });
      t.diagnostic(`${drive}: ${JSON.stringify(ours)} MB, node:http ${JSON.stringify(node)} MB`);
      assert.ok(ours.peak <= node.peak * 1.5 + 30, `${drive} held ${ours.peak} MB, node:http ${node.peak} MB`);
      assert.ok(ours.after <= node.after * 1.5 + 30, `${drive} kept ${ours.after} MB, node:http ${node.after} MB`);
    }
  });
}

/** Resident megabytes: the highest while the clients are there, and after they have gone. */
async function costOf(t, { clients, requests }, options) {
  const app = await startApp(t, APP, options);
  const before = await openSockets(app.pid);
  const sockets = await Promise.all(Array.from({ length: clients }, () => ask(app.port, requests)));
  // Others are answered meanwhile.
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal((await request(`${app.url}/small`)).body.toString(), 'small');
  }
  for (const socket of sockets) socket.resetAndDestroy();
  await eventually(async () => (await openSockets(app.pid)) <= before, 'the connections have gone');
  const result = { peak: await megabytes(app.pid, 'VmHWM'), after: await megabytes(app.pid, 'VmRSS') };
  await app.stop();
  return result;
}

async function megabytes(pid, field) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)[1]) * 1024 / MB);
}

/** How many sockets a process has open. */
async function openSockets(pid) {
  const names = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return targets.filter((target) => target.startsWith('socket:')).length;
}

/** A connection that asks and reads nothing. Resolves when the first bytes of its answer have come. */
async function ask(port, requests) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write(GET.repeat(requests));
  await once(socket, 'readable');
  return socket;
}
