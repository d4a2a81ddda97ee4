// The applications of this folder, unchanged, over HTTP/2 (PORTICO_HTTP2=1): in the clear by prior knowledge.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { curl, eventually } from '../support/clients.mjs';
import { plain } from '../support/mode.mjs';
import { startApp } from '../support/start-app.mjs';

const page = readFileSync(new URL('pages/index.html', import.meta.url));
const skip = plain && 'no server of node:http takes HTTP/2';

/** One request over HTTP/2: `{ status, headers, body, trailers }`. */
async function ask(client, path, { body, ...headers } = {}) {
  const stream = client.request({ ':path': path, ...(body !== undefined && { ':method': 'POST' }), ...headers });
  const answer = { trailers: {} };
  stream.on('trailers', (fields) => (answer.trailers = fields));
  stream.end(body);
  const [fields] = await once(stream, 'response');
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Object.assign(answer, { status: fields[':status'], headers: fields, body: Buffer.concat(parts) });
}

async function start(t, app, threads, options = {}) {
  const program = await startApp(t, app, { ...options, env: { PORTICO_HTTP2: '1', PORTICO_THREADS: threads, ...options.env } });
  const client = http2.connect(program.url);
  client.on('error', () => undefined);
  t.after(() => client.destroy());
  await once(client, 'remoteSettings');
  return { ...program, client };
}

/** A WebSocket of ws in a stream. */
async function open(client, path) {
  const stream = client.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': path, ':scheme': 'http', 'sec-websocket-version': '13' }, { endStream: false });
  const [headers] = await once(stream, 'response');
  if (headers[':status'] !== 200) return { status: headers[':status'] };
  const socket = new WebSocket(null, undefined, { autoPong: true });
  socket._isServer = false; // what ws takes one without an address for
  const inbox = [];
  socket.on('message', (data, isBinary) => inbox.push(isBinary ? data : data.toString()));
  socket.setSocket(stream, Buffer.alloc(0), { allowSynchronousEvents: true, maxPayload: 64 << 20, skipUTF8Validation: false });
  const next = async () => {
    await eventually(() => inbox.length > 0, 'a message comes');
    return inbox.shift();
  };
  return { socket, next, stream };
}

for (const threads of ['0', '1']) {
  describe(`over HTTP/2, ${threads} threads`, { skip }, () => {
    for (const version of ['express-4', 'express-5']) {
      test(`${version} routes, parses, serves files and reports errors`, async (t) => {
        const { client, url, port } = await start(t, 'real-software/apps/express.cjs', threads, { args: [version] });
        const user = await ask(client, '/users/a%20b?q=1');
        assert.deepEqual(JSON.parse(user.body), { id: 'a b', query: { q: '1' }, ip: '127.0.0.1', secure: false, host: '127.0.0.1' });
        const echo = await ask(client, '/echo', { body: '{"deep":[1,2]}', 'content-type': 'application/json' });
        assert.deepEqual([echo.status, echo.headers['x-echo'], JSON.parse(echo.body)], [201, 'yes', { deep: [1, 2] }]);
        assert.deepEqual((await ask(client, '/file')).body, page);
        const part = await ask(client, '/static/index.html', { range: 'bytes=0-14' });
        assert.deepEqual([part.status, part.body.toString()], [206, '<!doctype html>']);
        const same = await ask(client, '/static/index.html', { 'if-none-match': part.headers.etag });
        assert.deepEqual([same.status, same.body.length], [304, 0]);
        assert.deepEqual((await ask(client, '/cookie')).headers['set-cookie'], ['a=1; Path=/', 'b=2; Path=/']);
        assert.equal((await ask(client, '/throws')).status, 500);
        assert.equal((await ask(client, '/nothing')).status, 404);
        const head = await ask(client, '/', { ':method': 'HEAD' });
        assert.deepEqual([head.headers['content-length'], head.body.length], ['12', 0]);
        const answers = await Promise.all(Array.from({ length: 100 }, (_, id) => ask(client, `/users/${id}`)));
        assert.deepEqual(answers.map(({ body }) => JSON.parse(body).id), Array.from({ length: 100 }, (_, id) => `${id}`));
        assert.equal(await curl('--http2-prior-knowledge', '--write-out', ' %{http_version}', url), 'Hello World! 2');
        assert.equal(await curl('--http1.1', '--write-out', ' %{http_version}', `http://127.0.0.1:${port}/`), 'Hello World! 1.1');
      });
    }

    test('compression, body parsers, uploads and server-sent events', async (t) => {
      const { client, output } = await start(t, 'real-software/apps/middleware.cjs', threads, { env: { UPLOADS: '/tmp' } });
      const text = await ask(client, '/text', { 'accept-encoding': 'gzip' });
      assert.equal(text.headers['content-encoding'], 'gzip');
      assert.equal(gunzipSync(text.body).toString(), 'compress me '.repeat(1000));
      assert.deepEqual(JSON.parse((await ask(client, '/form', { body: 'a=1&b=2', 'content-type': 'application/x-www-form-urlencoded' })).body), { a: '1', b: '2' });
      const large = randomBytes(5_000_000);
      assert.deepEqual(JSON.parse((await ask(client, '/raw', { body: large, 'content-type': 'application/octet-stream' })).body), { length: large.length, buffer: true });
      const flushed = client.request({ ':path': '/flushed', 'accept-encoding': 'gzip' });
      await once(flushed, 'response');
      await once(flushed, 'data');
      flushed.close();
      const events = client.request({ ':path': '/events' });
      const [headers] = await once(events, 'response');
      assert.equal(headers['content-type'], 'text/event-stream');
      let heard = '';
      events.setEncoding('utf8').on('data', (part) => (heard += part));
      await eventually(() => heard.includes('id: 3\n'), 'three events come');
      events.close(http2.constants.NGHTTP2_CANCEL);
      await eventually(() => output().includes('event stream closed'), 'the handler hears that its client has gone');
      assert.equal((await ask(client, '/small')).body.toString(), 'small');
    });

    test('koa streams, negotiates and reads bodies', async (t) => {
      const { client } = await start(t, 'real-software/apps/koa.cjs', threads);
      assert.equal((await ask(client, '/')).body.toString(), 'Hello Koa');
      assert.equal(JSON.parse((await ask(client, '/json?a=1')).body).query.a, '1');
      assert.deepEqual((await ask(client, '/stream')).body, page);
      assert.equal((await ask(client, '/empty')).status, 204);
      assert.equal((await ask(client, '/etag', { 'if-none-match': '"tag"' })).status, 304);
      assert.equal((await ask(client, '/echo', { body: 'echoed', 'content-type': 'text/plain' })).body.toString(), 'echoed');
      assert.equal((await ask(client, '/raw')).body.toString(), 'by hand');
      assert.equal((await ask(client, '/throws')).status, 403);
    });

    test('fastify validates, streams and sends trailers', async (t) => {
      const { client } = await start(t, 'real-software/apps/fastify.mjs', threads);
      assert.deepEqual(JSON.parse((await ask(client, '/')).body), { hello: 'world' });
      assert.equal(JSON.parse((await ask(client, '/user/7')).body).id, 7);
      assert.equal((await ask(client, '/echo', { body: '{}', 'content-type': 'application/json' })).status, 400);
      assert.equal((await ask(client, '/stream')).body.toString(), 'one two three');
      assert.deepEqual((await ask(client, '/cookies')).headers['set-cookie'], ['a=1', 'b=2']);
      assert.deepEqual([(await ask(client, '/trailer')).trailers['x-sum'], (await ask(client, '/hijack')).body.toString()], ['sum', 'raw']);
      assert.equal((await ask(client, '/throws')).status, 418);
    });

    test('hapi answers, streams and takes uploads', async (t) => {
      const { client } = await start(t, 'real-software/apps/hapi.cjs', threads);
      assert.equal((await ask(client, '/')).body.toString(), 'Hello World!');
      assert.equal(JSON.parse((await ask(client, '/hello/ann')).body).from, '127.0.0.1');
      assert.equal((await ask(client, '/stream')).body.toString(), 'one two');
      assert.deepEqual(JSON.parse((await ask(client, '/upload', { body: randomBytes(1_000_000) })).body), { length: 1_000_000 });
    });

    test('ws takes WebSockets in streams (RFC 8441), beside requests', async (t) => {
      const { client, output } = await start(t, 'real-software/apps/ws.cjs', threads);
      const { socket, next } = await open(client, '/path');
      assert.equal(await next(), 'hello /path 127.0.0.1');
      const large = randomBytes(1 << 20);
      socket.send(large);
      assert.deepEqual(await next(), large);
      for (let number = 0; number < 200; number += 1) socket.send(`${number}`);
      for (let number = 0; number < 200; number += 1) assert.equal(await next(), `${number}`);
      assert.equal((await ask(client, '/')).body.toString(), 'plain http');
      const others = await Promise.all(Array.from({ length: 20 }, () => open(client, '/all')));
      others[0].socket.send('news');
      for (const other of others) assert.equal(await other.next(), 'all: news');
      assert.equal((await open(client, '/denied')).status, 401);
      socket.close(4001, 'enough');
      await eventually(() => output().includes('closed 4001 enough'), 'the server sees the reason');
    });
  });
}
