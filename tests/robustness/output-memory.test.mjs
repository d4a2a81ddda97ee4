// What clients that ask for much and do not read cost each process that serves: no more than on node:http, half as much
// again and 30 MB. Besides, 16 MB of bodies may be on their way to an engine thread, and a host may keep 256 KiB of each
// answer.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { eventually, request } from '../support/clients.mjs';
import { plain } from '../support/mode.mjs';
import { openSockets, peakBytes, resetPeak, residentBytes } from '../support/process-facts.mjs';
import { startApp } from '../support/start-app.mjs';
import { startHost } from '../support/start-host.mjs';

const MB = 1 << 20;

/** What a process may hold besides, for so many answers in work. */
const ALLOWED_MB = { threaded: () => 16, host: (answers) => answers / 4 };
const APP = 'robustness/apps/large-shared.cjs';

/** How clients ask: how many there are, for what, and how often each asks at once. */
const LOADS = {
  'four clients that pipeline 200 requests for 10 MB': { clients: 4, requests: 200, path: '/' },
  'a hundred clients that ask for 10 MB': { clients: 100, requests: 1, path: '/' },
  'four hundred clients that ask for 10 MB': { clients: 400, requests: 1, path: '/' },
  'four clients that pipeline 50,000 requests for a small answer': { clients: 4, requests: 50_000, path: '/small' },
};

/** Each starts the application and resolves with `{ port, processes, stop }`; `processes` are the pids that serve. */
const DRIVES = {
  inline: (t) => embedded(t, {}),
  threaded: (t) => embedded(t, { env: { PORTICO_THREADS: '1' } }),
  hosted: async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `${host.url}/`);
    return { port: host.port, processes: { application: member.pid, host: host.child.pid }, stop: () => member.kill('SIGTERM') };
  },
};

for (const [name, load] of Object.entries(LOADS)) {
  test(`${name}, and do not read, cost what they cost on node:http`, async (t) => {
    const { application: node } = await costOf(load, await embedded(t, { commandLine: () => [], engine: false, env: { PORTICO_REQUIRE: '' } }));
    t.diagnostic(`node:http: ${inWords(node)}`);
    for (const [drive, start] of plain ? [] : Object.entries(DRIVES)) {
      for (const [process, ours] of Object.entries(await costOf(load, await start(t)))) {
        t.diagnostic(`${drive}, ${process}: ${inWords(ours)}`);
        const allowed = (ALLOWED_MB[process] ?? ALLOWED_MB[drive])?.(load.clients) ?? 0;
        assert.ok(ours.peak <= node.peak * 1.5 + 30 + allowed, `${drive}, ${process}: ${inWords(ours)}; node:http: ${inWords(node)}`);
        assert.ok(ours.after <= node.after * 1.5 + 30 + allowed, `${drive}, ${process}: ${inWords(ours)}; node:http: ${inWords(node)}`);
      }
    }
  });
}

const inWords = ({ peak, after }) => `${peak} MB more at most, ${after} MB more afterwards`;

async function embedded(t, options) {
  const app = await startApp(t, APP, options);
  return { port: app.port, processes: { application: app.pid }, stop: app.stop };
}

/**
 * Resident megabytes of each process above those at the start: `{ peak, after }`, the most while the clients are there,
 * and what is left when they have gone.
 */
async function costOf({ clients, requests, path }, { port, processes, stop }) {
  const small = () => request(`http://127.0.0.1:${port}/small`);
  await small();
  const pids = Object.entries(processes);
  const before = new Map(pids.map(([name, pid]) => [name, { resident: residentBytes(pid), sockets: openSockets(pid) }]));
  for (const [, pid] of pids) resetPeak(pid);
  const connections = await Promise.all(Array.from({ length: clients }, () => ask(port, path, requests)));
  // Others are answered meanwhile.
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await small()).body.toString(), 'small');
  for (const connection of connections) connection.resetAndDestroy();
  await eventually(() => pids.every(([name, pid]) => openSockets(pid) <= before.get(name).sockets), 'the connections have gone');
  const costs = pids.map(([name, pid]) => {
    const megabytes = (bytes) => Math.max(0, Math.round((bytes - before.get(name).resident) / MB));
    return [name, { peak: megabytes(peakBytes(pid)), after: megabytes(residentBytes(pid)) }];
  });
  await stop();
  return Object.fromEntries(costs);
}

/** A connection that asks and reads nothing. Resolves when the first bytes of its answer have come. */
async function ask(port, path, requests) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(requests));
  await once(socket, 'readable');
  return socket;
}
