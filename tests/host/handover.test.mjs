// What a process does with connections that the host before still has, when another one has taken over.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { curl, eventually } from '../support/clients.mjs';
import { startHost } from '../support/start-host.mjs';

const APP = 'host/apps/closing.cjs';
const GET = (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A connection of a client, with all that has come on it, and whether it is over. */
async function connect(host) {
  const socket = net.connect(host.port, '127.0.0.1');
  const client = { received: '', over: false, send: (path) => socket.write(GET(path)) };
  socket.setEncoding('latin1').on('data', (part) => (client.received += part));
  socket.on('error', () => undefined);
  socket.on('close', () => (client.over = true));
  await once(socket, 'connect');
  return Object.assign(client, { end: () => socket.destroy() });
}

const hears = (member, line) => eventually(() => member.output().split('\n').includes(line), line);

/** Has another host take over, and waits until the processes are registered there and requests are answered by it. */
async function handOver(host) {
  const { pid } = await host.status();
  await host.cli('upgrade');
  await eventually(async () => (await host.status()).pid !== pid, 'another host answers');
  for (const path of ['/a/', '/b/']) {
    await eventually(async () => (await curl(`${host.url}${path}`).catch(() => '')) === 'answered', `${path} is answered`, 30_000);
  }
}

/** Two processes behind a host: `a` and `b`, by their paths. */
async function startBoth(t) {
  const host = await startHost(t);
  const [a, b] = await Promise.all(['a', 'b'].map((name) => host.member(APP, `http://*:${host.port}/${name}/`)));
  return { host, a, b };
}

test('closeAllConnections() ends connections that the host before still has', { timeout: 120_000 }, async (t) => {
  const { host, a, b } = await startBoth(t);
  const [own, other] = await Promise.all([connect(host), connect(host)]);
  t.after(() => [own, other].forEach((client) => client.end()));
  own.send('/a/held');
  other.send('/b/held');
  await Promise.all([hears(a, 'held /a/held'), hears(b, 'held /b/held')]);
  await handOver(host);
  assert.ok(!own.over && !a.output().includes('closed /a/held'), 'a request in flight outlives the upgrade');
  a.child.send('closeAllConnections');
  await hears(a, 'closed /a/held');
  await eventually(() => own.over, 'the client’s connection ends');
  assert.ok(!other.over && !b.output().includes('closed /b/held'), 'connections of other processes go on');
  // The server goes on behind the host that took over.
  assert.equal(await curl(`${host.url}/a/`), 'answered');
});

test('closeIdleConnections() closes for a process what the host before has and others still use', { timeout: 120_000 }, async (t) => {
  const { host, a, b } = await startBoth(t);
  const client = await connect(host);
  t.after(() => client.end());
  client.send('/a/first');
  await eventually(() => client.received.includes('answered'), 'the first answer');
  client.send('/b/held');
  await hears(b, 'held /b/held');
  await handOver(host);
  assert.ok(!a.output().includes('closed /a/first'), 'the process still has the connection');
  a.child.send('closeIdleConnections');
  await hears(a, 'closed /a/first');
  assert.ok(!client.over && !b.output().includes('closed /b/held'), 'the request of the other process goes on');
});

test('a server that closes waits for the connections that the host before still has', { timeout: 120_000 }, async (t) => {
  const { host, a } = await startBoth(t);
  const client = await connect(host);
  t.after(() => client.end());
  client.send('/a/held');
  await hears(a, 'held /a/held');
  await handOver(host);
  a.child.send('close');
  await hears(a, 'called close');
  assert.equal(await curl(`${host.url}/b/`), 'answered');
  assert.ok(!a.output().includes('server closed'));
  a.child.send('closeAllConnections');
  await hears(a, 'server closed');
});
