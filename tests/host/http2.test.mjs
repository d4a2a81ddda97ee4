// Unchanged https servers behind a host, over HTTP/2: the streams of one connection go to several processes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import http2 from 'node:http2';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import { eventually } from '../support/clients.mjs';
import { freePort } from '../support/free-port.mjs';
import { startHost } from '../support/start-host.mjs';

const folder = mkdtempSync(join(tmpdir(), 'portico-streams-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const [key, cert] = ['key', 'crt'].map((kind) => join(folder, `server.${kind}`));
execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', '/CN=localhost',
  '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });

/** A host with so many processes, and a client of one connection. */
async function serve(t, processes) {
  const port = await freePort();
  const host = await startHost(t, { configuration: `[[certificate]]\nport = ${port}\ncertificate = "${cert}"\nkey = "${key}"\n` });
  const members = [];
  for (let count = 0; count < processes; count += 1) members.push(await host.member('host/apps/express-streams.cjs', `https://*:${port}/`));
  const client = http2.connect(`https://localhost:${port}`, { rejectUnauthorized: false });
  client.on('error', () => undefined);
  t.after(() => client.destroy());
  await once(client, 'remoteSettings');
  return { client, host, members, port };
}

async function ask(client, path, body) {
  const stream = client.request({ ':path': path, ...(body !== undefined && { ':method': 'POST' }) });
  stream.end(body);
  // Read from the start: what nobody reads yet when a stream closes, Node's client drops.
  const [[headers], parts] = await Promise.all([once(stream, 'response'), stream.toArray()]);
  return { status: headers[':status'], body: Buffer.concat(parts) };
}

test('the requests of one connection reach several processes, with the facts of the connection', { timeout: 120_000 }, async (t) => {
  const { client, members, port } = await serve(t, 2);
  const answers = await Promise.all(Array.from({ length: 60 }, () => ask(client, '/facts')));
  const facts = answers.map(({ body }) => JSON.parse(body));
  assert.deepEqual(new Set(facts.map(({ pid }) => pid)), new Set(members.map(({ pid }) => pid)));
  for (const { pid, ...rest } of facts) assert.deepEqual(rest, { version: '2.0', host: `localhost:${port}`, secure: true, alpn: 'h2' }, `of ${pid}`);
  const sent = Buffer.alloc(2_000_000, 'abc');
  assert.equal((await ask(client, '/echo', sent)).body.equals(sent), true);
});

test('a stream that either side gives up ends alone', { timeout: 120_000 }, async (t) => {
  const { client, members } = await serve(t, 1);
  const left = client.request({ ':path': '/wait' });
  left.on('error', () => undefined);
  await once(left, 'response');
  left.close(http2.constants.NGHTTP2_CANCEL);
  await eventually(() => members[0].output().includes('left'), 'the handler hears that its client has gone');
  const destroyed = client.request({ ':path': '/destroy' });
  destroyed.on('error', () => undefined);
  destroyed.resume();
  await new Promise((resolve) => destroyed.on('close', resolve));
  assert.equal(destroyed.rstCode, http2.constants.NGHTTP2_CANCEL);
  assert.equal((await ask(client, '/facts')).status, 200);
});

test('the status counts connections of HTTP/2 and their streams', { timeout: 120_000 }, async (t) => {
  const { client, host } = await serve(t, 1);
  const waiting = [1, 2, 3].map(() => client.request({ ':path': '/wait' }));
  await Promise.all(waiting.map((stream) => once(stream.on('error', () => undefined), 'response')));
  const { connections, http2_connections: speaking, http2_streams: streams } = await host.status();
  assert.deepEqual([connections, speaking, streams], [1, 1, 3]);
  assert.match((await host.cli('status')).stdout, /1 connections \(1 of HTTP\/2 with 3 streams\)/);
  waiting[0].close(http2.constants.NGHTTP2_CANCEL);
  await eventually(async () => (await host.status()).http2_streams === 2, 'a stream that is reset counts no more');
  client.destroy();
  await eventually(async () => (await host.status()).http2_connections === 0, 'nor does a connection that has ended');
});

test('a process that is killed costs its own streams, and the connection goes on', { timeout: 120_000 }, async (t) => {
  const { client, members } = await serve(t, 2);
  const pids = async () => new Set((await Promise.all(Array.from({ length: 40 }, () => ask(client, '/facts')))).map(({ body }) => JSON.parse(body).pid));
  assert.equal((await pids()).size, 2);
  await members[0].kill();
  await eventually(async () => (await pids()).size === 1, 'one process answers all');
  assert.equal(client.destroyed, false);
});

test('ws takes a WebSocket in a stream', { timeout: 120_000 }, async (t) => {
  const { client } = await serve(t, 1);
  assert.equal(client.remoteSettings.enableConnectProtocol, true);
  const stream = client.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/socket', ':scheme': 'https', 'sec-websocket-version': '13' }, { endStream: false });
  const [headers] = await once(stream, 'response');
  assert.equal(headers[':status'], 200);
  const socket = new WebSocket(null, undefined, { autoPong: true });
  socket._isServer = false; // what ws takes one without an address for
  socket.setSocket(stream, Buffer.alloc(0), { allowSynchronousEvents: true, maxPayload: 1 << 20, skipUTF8Validation: false });
  socket.send('hello');
  const [data] = await once(socket, 'message');
  assert.equal(data.toString(), '2.0 hello');
  socket.close();
  await once(socket, 'close');
});

test('an upgrade under load loses no stream: clients are told, and come back to the new host', { timeout: 120_000 }, async (t) => {
  const { host, port } = await serve(t, 2);
  const before = (await host.status()).pid;
  const count = { answers: 0, told: 0 };
  const failures = [];
  let isOver = false;

  /** Ten requests at a time on one connection, until the host lets it go. */
  async function load() {
    while (!isOver) {
      const session = http2.connect(`https://localhost:${port}`, { rejectUnauthorized: false });
      let isTold = false;
      session.on('error', (error) => failures.push(`session: ${error.code}`)).on('goaway', () => {
        isTold = true;
        count.told += 1;
      });
      const one = async () => {
        while (!isOver && !isTold && !session.closed) {
          const { status, body } = await ask(session, '/facts');
          if (status !== 200 || JSON.parse(body).version !== '2.0') failures.push(`${status} ${body}`);
          count.answers += 1;
        }
      };
      // What Node's client has not sent yet when GOAWAY comes it refuses by itself: no request was made.
      const isUnsent = (error) => isTold && error.message.endsWith('NGHTTP2_REFUSED_STREAM');
      await Promise.all(Array.from({ length: 10 }, () => one().catch((error) => {
        if (!isUnsent(error)) failures.push(`stream: ${error.message}`);
      })));
      if (!session.destroyed) await new Promise((resolve) => session.once('close', resolve).close());
    }
  }

  const clients = Array.from({ length: 4 }, load);
  await eventually(() => count.answers > 100, 'answers come');
  await host.cli('upgrade');
  await eventually(() => count.told >= 4, 'each client is told');
  const known = count.answers;
  await eventually(() => count.answers > known + 100, 'answers come from the new host');
  isOver = true;
  await Promise.all(clients);
  assert.notEqual((await host.status()).pid, before);
  assert.deepEqual(failures, []);
});
