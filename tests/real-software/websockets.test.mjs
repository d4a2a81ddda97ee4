// ws, socket.io and http-proxy.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { curl, eventually, raw, request } from '../support/clients.mjs';
import { residentBytes } from '../support/process-facts.mjs';
import { startApp } from '../support/start-app.mjs';

async function open(t, url, options) {
  const socket = new WebSocket(url.replace('http', 'ws'), options);
  const inbox = [];
  socket.on('message', (data, isBinary) => inbox.push(isBinary ? data : data.toString()));
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const next = async () => {
    await eventually(() => inbox.length > 0, 'a message comes');
    return inbox.shift();
  };
  return { socket, next };
}

describe('ws', () => {
  const app = 'real-software/apps/ws.cjs';

  for (const deflate of [true, false]) {
    test(`echoes text and bytes ${deflate ? 'with' : 'without'} permessage-deflate`, async (t) => {
      const { url } = await startApp(t, app);
      const { socket, next } = await open(t, `${url}/path`, { perMessageDeflate: deflate });
      assert.equal(socket.extensions, deflate ? 'permessage-deflate' : '');
      assert.equal(await next(), 'hello /path 127.0.0.1');
      socket.send('žluťoučký');
      assert.equal(await next(), 'žluťoučký');
      const large = randomBytes(5 << 20);
      socket.send(large);
      assert.deepEqual(await next(), large);
      for (let number = 0; number < 1000; number += 1) socket.send(`${number}`);
      for (let number = 0; number < 1000; number += 1) assert.equal(await next(), `${number}`);
    });
  }

  test('pings, closes with a reason, and refuses', async (t) => {
    const { url, output } = await startApp(t, app);
    const { socket } = await open(t, url);
    socket.ping('beat');
    const [beat] = await once(socket, 'pong');
    assert.equal(beat.toString(), 'beat');
    socket.close(4001, 'enough');
    const [code] = await once(socket, 'close');
    assert.equal(code, 4001);
    await eventually(() => output().includes('closed 4001 enough'), 'the server sees the reason');
    const denied = new WebSocket(`${url.replace('http', 'ws')}/denied`);
    const [error] = await once(denied, 'error');
    assert.equal(error.message, 'Unexpected server response: 401');
    assert.equal(await curl(url), 'plain http');
  });

  test('a client that vanishes is closed', async (t) => {
    const { url, output } = await startApp(t, app);
    const { socket } = await open(t, url);
    socket.terminate();
    await eventually(() => output().includes('closed 1006'), 'the server sees it leave');
  });

  test('broadcasts to many', async (t) => {
    const { url } = await startApp(t, app);
    const clients = await Promise.all(Array.from({ length: 50 }, () => open(t, `${url}/all`)));
    clients[0].socket.send('news');
    for (const { next } of clients) assert.equal(await next(), 'all: news');
  });

  test('frames that break the protocol end the connection', async (t) => {
    const { port, output } = await startApp(t, app);
    const upgrade = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    const answer = await raw(port, `${upgrade}\xff\xff\xff\xff`);
    assert.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\n.*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/s);
    await eventually(() => output().includes('socket error WS_ERR'), 'the server reports the frame');
  });
});

describe('socket.io', () => {
  const app = 'real-software/apps/socket-io.mjs';
  const cases = { 'polling only': ['polling'], 'polling, then upgrade': ['polling', 'websocket'], 'WebSocket only': ['websocket'] };

  for (const [name, transports] of Object.entries(cases)) {
    test(name, async (t) => {
      const { url, output } = await startApp(t, app);
      const socket = io(url, { transports, reconnection: false });
      t.after(() => socket.disconnect());
      const upgraded = transports.length === 2 ? once(socket, 'upgraded') : null;
      const [transport] = await once(socket, 'welcome');
      assert.equal(transport, transports[0]);
      if (upgraded) assert.deepEqual(await upgraded, ['websocket']);
      assert.equal(await socket.emitWithAck('add', 2, 3), 5);
      const bytes = randomBytes(200_000);
      assert.deepEqual(Buffer.from(await socket.emitWithAck('bytes', bytes)), Buffer.from(bytes).reverse());
      await socket.emitWithAck('join', 'room');
      const said = once(socket, 'said');
      socket.emit('say', 'room', 'hi');
      assert.deepEqual(await said, ['hi']);
      socket.disconnect();
      await eventually(() => output().includes('disconnected client namespace disconnect'), 'the server sees it leave');
      assert.equal(await curl(url), 'not socket.io');
    });
  }
});

describe('http-proxy', () => {
  const app = 'real-software/apps/proxy.cjs';

  test('streams answers and requests', async (t) => {
    const { url, pid } = await startApp(t, app);
    assert.equal(await curl(`${url}/simple`), 'back /simple');
    const [response] = await once(http.get(`${url}/slow`), 'response');
    const started = performance.now();
    const [first] = await once(response, 'data');
    assert.equal(first.toString(), 'first');
    assert.ok(performance.now() - started < 250);
    response.resume();
    const large = await request(`${url}/large`);
    assert.deepEqual([large.body.length, large.headers['x-back']], [50 << 20, 'yes']);
    t.diagnostic(`resident after 50 MB through front and back: ${(residentBytes(pid) / (1 << 20)).toFixed(0)} MB`);
    const body = randomBytes(3 << 20);
    const echo = await request(`${url}/echo`, { method: 'POST', body });
    assert.deepEqual(echo.body, body);
    assert.equal(echo.headers['x-forwarded'], '127.0.0.1');
  });

  test('a dead back is 502', async (t) => {
    const { url } = await startApp(t, app);
    const answer = await request(`${url}/dead`);
    assert.deepEqual([answer.status, answer.body.toString()], [502, 'dead: ECONNREFUSED']);
  });

  test('an upload that is cut off is noticed at the back', async (t) => {
    const { url, output } = await startApp(t, app);
    const outgoing = http.request(url, { method: 'POST', headers: { 'Content-Length': 1000 } });
    outgoing.on('error', () => {});
    outgoing.write('a part');
    const [response] = await once(outgoing, 'response');
    response.on('error', () => {});
    outgoing.destroy();
    await eventually(() => output().includes('back request complete false'), 'the back sees it');
  });

  test('carries WebSockets', async (t) => {
    const { url } = await startApp(t, app);
    const { socket, next } = await open(t, url);
    socket.send('through');
    assert.equal(await next(), 'back through');
    socket.close();
    await once(socket, 'close');
  });
});
