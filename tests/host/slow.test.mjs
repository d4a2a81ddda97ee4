// Clients that send and read slowly, and processes that do not go on: no other waits for them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { curl, eventually, request } from '../support/clients.mjs';
import { startHost } from '../support/start-host.mjs';

const APP = 'host/apps/member.cjs';
/** The first prefix of this test's port: other hosts of the same user may leave reservations behind. */
const queue = async (host) => (await host.status()).prefixes.find(({ prefix }) => prefix.includes(`:${host.port}/`));
const member = async (host) => (await queue(host)).processes[0];

/** Connections from so many addresses, each of which begins a body. */
async function beginUploads(t, host, count, addresses) {
  const sockets = await Promise.all(Array.from({ length: count }, async (_, index) => {
    const socket = net.connect({ port: host.port, host: '127.0.0.1', localAddress: `127.9.0.${index % addresses + 1}` });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('POST /never HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx');
    return socket;
  }));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  return sockets;
}

describe('uploads that do not go on', () => {
  for (const addresses of [1, 200]) {
    test(`2,000 from ${addresses} addresses take nothing from other clients`, async (t) => {
      const host = await startHost(t, { configuration: '[limits]\nmin_bytes_per_second = 0\n' });
      await host.member(APP, `http://*:${host.port}/`, { args: ['here'] });
      await beginUploads(t, host, 2000, addresses);
      await eventually(async () => (await member(host)).in_flight === 2000, 'the process has them all', 60_000);
      assert.equal(await curl(`${host.url}/name`), 'here');
      const { status, body } = await request(`${host.url}/count`, { method: 'POST', body: Buffer.alloc(100_000) });
      assert.deepEqual([status, body.toString()], [200, '100000']);
      assert.equal((await queue(host)).refused, 0);
    });
  }

  test('end where they are below min_bytes_per_second; who waits for the process does not', async (t) => {
    const host = await startHost(t, {
      configuration: '[limits]\nmin_bytes_per_second = 100000\nconnections_checking_interval = "50ms"\n',
    });
    const process = await host.member(APP, `http://*:${host.port}/`, { args: ['here'] });
    // Its event loop is blocked: it neither reads nor answers, while these look slow.
    const busy = curl(`${host.url}/busy?ms=1500`);
    const polls = curl(`${host.url}/slow?ms=2000`);
    const up = request(`${host.url}/count`, { method: 'POST', body: Buffer.alloc(5 << 20) });
    const [slow] = await beginUploads(t, host, 1, 1);
    await once(slow, 'close');
    assert.equal((await host.status()).too_slow, 1);
    assert.deepEqual(await Promise.all([busy, polls]), ['here', 'here']);
    assert.equal((await up).body.toString(), String(5 << 20));
    assert.equal((await host.status()).too_slow, 1);
    assert.equal(process.child.exitCode, null);
  });
});

describe('a process that is stopped', () => {
  test('is shown by the status, costs its own requests 504, and serves again when it goes on', async (t) => {
    const host = await startHost(t, { configuration: '[queue]\nresponse_timeout = "3s"\n' });
    const stopped = await host.member(APP, `http://*:${host.port}/a/`, { args: ['stopped'] });
    await host.member(APP, `http://*:${host.port}/b/`, { args: ['other'] });
    assert.equal(await curl(`${host.url}/a/name`), 'stopped');
    process.kill(stopped.pid, 'SIGSTOP');
    const late = request(`${host.url}/a/name`);
    await eventually(async () => (await member(host)).takes_nothing_seconds >= 2, 'the status says so');
    assert.match((await host.cli('status')).stdout, /takes nothing since \d+ s, 1 untaken/);
    assert.equal(await curl(`${host.url}/b/name`), 'other');
    const { status, headers } = await late;
    assert.deepEqual([status, headers.connection], [504, 'close']);
    assert.match((await host.cli('status')).stdout, /1 timed out \(504\)/);
    process.kill(stopped.pid, 'SIGCONT');
    assert.equal(await curl(`${host.url}/a/name`), 'stopped');
    await eventually(async () => (await member(host)).takes_nothing_seconds === 0, 'it takes what it gets');
  });
});

describe('clients that end their side while their requests wait', () => {
  const configuration = '[queue]\nmax_in_flight_per_process = 1\n';

  /** Sends a request and ends the side behind it, as `nc -N` does; resolves with all that comes. */
  async function half(port, path) {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.on('data', (part) => (text += part)).on('error', () => undefined);
    socket.end(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'end');
    socket.end();
    return text;
  }

  async function occupy(t) {
    const host = await startHost(t, { configuration });
    const process = await host.member(APP, `http://*:${host.port}/`, { args: ['here'] });
    const first = net.connect(host.port, '127.0.0.1');
    t.after(() => first.destroy());
    first.write('GET /events?0 HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(first, 'data');
    return { host, process, first };
  }

  test('leave a program whose events go on until they have left', { timeout: 60_000 }, async (t) => {
    const { host, process, first } = await occupy(t);
    const left = [1, 2, 3].map((number) => half(host.port, `/events?${number}`));
    await eventually(async () => (await queue(host)).waiting === 3, 'they wait');
    first.destroy();
    await Promise.all(left);
    for (const number of [0, 1, 2, 3]) {
      await eventually(() => process.output().includes(`closed /events?${number}`), `'close' of ${number}`);
    }
    assert.equal(await curl(`${host.url}/name`), 'here');
    assert.equal((await member(host)).in_flight, 0);
  });

  test('get an answer that the program gives at once', { timeout: 60_000 }, async (t) => {
    const { host, first } = await occupy(t);
    const answer = half(host.port, '/name');
    await eventually(async () => (await queue(host)).waiting === 1, 'it waits');
    first.destroy();
    assert.match(await answer, /^HTTP\/1\.1 200 OK\r\n[^]*here$/);
  });
});
