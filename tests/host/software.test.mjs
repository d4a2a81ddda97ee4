// Real software behind a host.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { chromium } from 'playwright-core';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { curl, request } from '../support/clients.mjs';
import { startNode } from '../support/child.mjs';
import { startHost } from '../support/start-host.mjs';
import { testsFolder } from '../support/mode.mjs';

test("Fastify listens on a prefix by `path`, its word for what is no port", async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/fastify.cjs', `http://*:${host.port}/`);
  assert.equal(await curl(`${host.url}/name`), 'fastify');
});

test('Express, ws and socket.io share a port with another process', async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/realtime.mjs', `http://*:${host.port}/app/`);
  await host.member('host/apps/member.cjs', `http://*:${host.port}/`, { args: ['other'] });
  assert.equal(await curl(`${host.url}/name`), 'other');
  const hello = JSON.parse(await curl(`${host.url}/app/hello`));
  assert.match(hello.ip, /127\.0\.0\.1$/);
  assert.equal(hello.path, '/app/hello');
  const echo = await request(`${host.url}/app/echo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":[1,2]}' });
  assert.deepEqual(JSON.parse(echo.body), { a: [1, 2] });

  const socket = new WebSocket(`${host.url.replace('http', 'ws')}/app/ws`);
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const large = Buffer.alloc(3 << 20, 'z');
  socket.send(large);
  const [data] = await once(socket, 'message');
  assert.deepEqual(data, large);

  for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
    const client = io(host.url, { path: '/app/socket.io/', transports, forceNew: true });
    t.after(() => client.close());
    await once(client, 'connect');
    assert.equal(await client.emitWithAck('shout', 'hello'), 'HELLO', transports.join());
  }
});

test('socket.io leaves the other WebSockets of its server open: sockets count while they are used', async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/two-websockets.cjs', `http://*:${host.port}/`);
  const socket = new WebSocket(`${host.url.replace('http', 'ws')}/own`);
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const counts = [];
  for (let round = 0; round < 20; round++) {
    socket.send('x'.repeat(1000));
    const [data] = await once(socket, 'message');
    counts.push(String(data).split(' ').slice(1).map(Number));
    await new Promise((resolve) => setTimeout(resolve, 10)); // past socket.io's limit, in all
  }
  assert.equal(socket.readyState, WebSocket.OPEN);
  const [[firstRead, firstWritten], [secondRead, secondWritten]] = counts;
  assert.equal(secondRead - firstRead, 1008, 'a frame of 1,000 bytes with its head and mask');
  assert.ok(firstWritten >= 129 && secondWritten - firstWritten > 1000, JSON.stringify(counts.slice(0, 2)));
});

test('an HTTP connection counts the requests and answers of its process', async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/two-websockets.cjs', `http://*:${host.port}/`);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = async () => JSON.parse((await request(`${host.url}/traffic`, { agent, headers: { 'x-filler': 'y'.repeat(500) } })).body);
  const [first, second] = [await ask(), await ask()];
  assert.equal(first.bytesWritten, 0);
  assert.ok(first.bytesRead > 500 && second.bytesRead > 1000, JSON.stringify([first, second]));
  assert.ok(second.bytesWritten > 17, JSON.stringify(second));
});

test('the workers of a cluster share a prefix', async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/cluster.cjs', `http://*:${host.port}/`);
  const answers = await Promise.all(Array.from({ length: 30 }, () => curl(`${host.url}/`)));
  const counts = Object.groupBy ? Object.groupBy(answers, (answer) => answer) : undefined;
  assert.equal(new Set(answers).size, 3, JSON.stringify(counts ?? answers));
});

test('a thousand prefixes of one process', { timeout: 300_000 }, async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/many.cjs', `http://*:${host.port}/`, { args: ['1000'] });
  for (const number of [0, 1, 499, 998, 999]) assert.equal(await curl(`${host.url}/${number}/x`), String(number));
  assert.equal((await request(`${host.url}/1000/`)).status, 404);
});

test('the chat, with a browser', { skip: !existsSync('/usr/bin/chromium') && 'there is no Chromium' }, async (t) => {
  const host = await startHost(t);
  const chat = join(testsFolder, '../examples/chat/start.mjs');
  const { child, ended } = await startNode(['--import', 'portico/register', chat], {
    ready: /Ctrl-C/, started: ({ kill }) => t.after(() => kill()), cwd: join(testsFolder, '..'), env: { ...host.env, HTTP_PORT: String(host.port) },
  });
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  t.after(() => browser.close());
  const open = async (path, name) => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${host.url}${path}`);
    await page.fill('#name', name);
    await page.locator('#name').blur();
    await page.waitForFunction(() => /alone|people/.test(document.getElementById('state').textContent));
    return page;
  };
  const [ada, grace, alan] = [await open('/1/sea', 'Ada'), await open('/1/sea', 'Grace'), await open('/2/sea', 'Alan')];
  await ada.fill('#text', 'Ahoy <b>all</b>');
  await ada.click('button');
  await grace.waitForSelector('li:has-text("Ada: Ahoy <b>all</b>")');
  assert.equal(await grace.textContent('#state'), '2 people');
  // The same room name in another process is another room.
  assert.equal(await alan.textContent('#state'), 'alone here');
  assert.equal(await alan.locator('li:has-text("Ahoy")').count(), 0);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null], 'it stops by itself');
});
