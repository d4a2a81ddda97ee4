// `portico/http2`: the core and the compatibility API of node:http2's servers, on the engine.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import http2 from 'node:http2';
import https from 'node:https';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';

process.env.PORTICO_REQUIRE = '1';
const { createServer, createSecureServer } = (await import('portico/http2')).default;
const { counters } = await engine();
const pair = certificates().issue('http2-core');

/** How many requests the engine has had: the proof that it serves. */
async function engine() {
  const { createRequire } = await import('node:module');
  const { currentLane } = createRequire(import.meta.url)('../dist/lane/lane.js');
  return { counters: () => currentLane().engine.counters() };
}

async function listen(t, server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const url = `${scheme}://localhost:${server.address().port}`;
  const client = http2.connect(url, { rejectUnauthorized: false });
  client.on('error', () => undefined);
  t.after(() => {
    client.destroy();
    server.close();
  });
  return { client, url, port: server.address().port };
}

async function ask(client, headers = {}, body = undefined) {
  const stream = client.request({ ':path': '/', ...headers }, { endStream: body === undefined });
  const answer = { interim: [], trailers: undefined };
  stream.on('headers', (fields) => answer.interim.push(fields[':status']));
  stream.on('trailers', (fields) => (answer.trailers = { ...fields }));
  const controller = new AbortController();
  stream.on('close', () => controller.abort());
  if (body !== undefined) stream.end(body);
  const [fields] = await once(stream, 'response', { signal: controller.signal });
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Object.assign(answer, { status: fields[':status'], headers: fields, body: Buffer.concat(parts), rstCode: stream.rstCode });
}

test('a stream is told with its fields, answers, and ends with trailers', async (t) => {
  const events = [];
  const server = createServer();
  server.on('session', (session) => events.push(`session ${session.alpnProtocol} ${session.encrypted}`));
  server.on('stream', (stream, headers, flags, raw) => {
    events.push([headers[':method'], headers[':path'], headers[':scheme'], headers['x-a'], flags, raw.slice(0, 2).join(' '), stream.id].join(' '));
    stream.additionalHeaders({ ':status': 103, link: '</a>' });
    stream.respond({ ':status': 201, 'x-list': ['1', '2'], 'set-cookie': ['a=1', 'b=2'] }, { waitForTrailers: true });
    assert.throws(() => stream.respond(), { code: 'ERR_HTTP2_HEADERS_SENT' });
    assert.throws(() => stream.sendTrailers({}), { code: 'ERR_HTTP2_TRAILERS_NOT_READY' });
    assert.equal(stream.sentHeaders[':status'], 201);
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-end': 'yes' }));
    stream.on('close', () => events.push(`close ${stream.rstCode}`));
    stream.end('body');
  });
  const { client } = await listen(t, server);
  const before = counters().requests;
  const { status, headers, body, interim, trailers } = await ask(client, { ':path': '/p?q', 'x-a': 'a' });
  assert.deepEqual([status, body.toString(), headers['x-list'], headers['set-cookie'], interim], [201, 'body', '1, 2', ['a=1', 'b=2'], [103]]);
  assert.equal(trailers['x-end'], 'yes');
  await ask(client);
  assert.deepEqual(events.slice(0, 3), ['session h2c false', 'GET /p?q http a 5 :method GET 1', 'close 0']);
  assert.equal(counters().requests - before, 2);
});

test('fields that HTTP/2 forbids are refused with Node\'s errors', async (t) => {
  const server = createServer();
  const codes = [];
  server.on('stream', (stream) => {
    const wrong = [{ connection: 'close' }, { ':path': '/' }, { 'content-type': ['a', 'b'] }, { 'bad name': 'x' }, { ':status': 700 }];
    for (const headers of wrong) {
      try {
        stream.respond(headers);
      } catch (error) {
        codes.push(error.code);
      }
    }
    // As from Node, of which clients drop such a field.
    stream.respond({ 'x-a': 'line\r\nx-b: break', 'x-c': 'c' });
    stream.end();
  });
  const { client } = await listen(t, server);
  const { status, headers } = await ask(client);
  assert.deepEqual([status, headers['x-a'], headers['x-b'], headers['x-c']], [200, undefined, undefined, 'c']);
  assert.deepEqual(codes, ['ERR_HTTP2_INVALID_CONNECTION_HEADERS', 'ERR_HTTP2_INVALID_PSEUDOHEADER', 'ERR_HTTP2_HEADER_SINGLE_VALUE',
    'ERR_INVALID_HTTP_TOKEN', 'ERR_HTTP2_STATUS_INVALID']);
});

test('bodies are streams with back-pressure both ways', async (t) => {
  const server = createServer();
  server.on('stream', (stream, headers) => {
    stream.respond();
    if (headers[':method'] === 'POST') stream.pipe(stream);
    else stream.end('small');
  });
  const { client } = await listen(t, server);
  const sent = Buffer.alloc(4_000_000, 'abcdefg');
  const [large, small] = await Promise.all([ask(client, { ':method': 'POST' }, sent), ask(client)]);
  assert.equal(large.body.equals(sent), true);
  assert.equal(small.body.toString(), 'small');
});

test('files are sent whole, in part, and refused', async (t) => {
  const text = await readFile(import.meta.filename, 'utf8');
  const handle = await open(import.meta.filename);
  t.after(() => handle.close());
  const server = createServer();
  server.on('stream', (stream, { ':path': path }) => {
    if (path === '/whole') stream.respondWithFile(import.meta.filename, { 'content-type': 'text/plain' });
    else if (path === '/part') stream.respondWithFile(import.meta.filename, {}, { offset: 3, length: 5, statCheck: (stat, headers) => { headers['x-size'] = stat.size; } });
    else if (path === '/open') stream.respondWithFD(handle, { 'content-length': 10 }, { length: 10 });
    else stream.respondWithFile(path, {}, { onError: (error) => { stream.respond({ ':status': 404 }); stream.end(error.code); } });
  });
  const { client } = await listen(t, server);
  const whole = await ask(client, { ':path': '/whole' });
  assert.deepEqual([whole.body.toString(), whole.headers['content-length']], [text, String(Buffer.byteLength(text))]);
  const part = await ask(client, { ':path': '/part' });
  assert.deepEqual([part.body.toString(), part.headers['content-length'], part.headers['x-size']], [text.slice(3, 8), '5', String(Buffer.byteLength(text))]);
  assert.equal((await ask(client, { ':path': '/open' })).body.toString(), text.slice(0, 10));
  assert.equal((await ask(client, { ':path': '/no/such/file' })).body.toString(), 'ENOENT');
  assert.equal((await ask(client, { ':path': '/tmp' })).body.toString(), 'ERR_HTTP2_SEND_FILE');
});

test('a file whose head can\'t be sent resets the stream, and what was written counts until it has left', async (t) => {
  const server = createServer();
  const seen = [];
  server.on('stream', (stream, headers) => {
    stream.on('error', (error) => seen.push(error.code));
    if (headers[':path'] === '/file') return stream.respondWithFile(import.meta.filename, headers);
    stream.respond();
    stream.write('abc');
    seen.push(stream.writableLength);
    return stream.end();
  });
  const { client } = await listen(t, server);
  const stream = client.request({ ':path': '/file' });
  stream.on('error', () => undefined);
  stream.resume();
  await new Promise((resolve) => stream.on('close', resolve));
  assert.equal(stream.rstCode, http2.constants.NGHTTP2_INTERNAL_ERROR);
  assert.equal((await ask(client)).body.toString(), 'abc');
  assert.deepEqual(seen, ['ERR_HTTP2_INVALID_PSEUDOHEADER', 3]);
});

test('a stream that either side gives up ends alone', async (t) => {
  const server = createServer();
  const ended = [];
  let waiting;
  server.on('stream', (stream, { ':path': path }) => {
    stream.on('aborted', () => ended.push(`${path} aborted`));
    stream.on('error', (error) => ended.push(`${path} ${error.code}`));
    stream.on('close', () => ended.push(`${path} ${stream.rstCode}`));
    stream.respond();
    stream.write('first');
    if (path === '/close') stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    else if (path === '/destroy') stream.destroy(new Error('failed'));
    else if (path === '/wait') waiting = stream;
  });
  const { client } = await listen(t, server);
  const other = ask(client, { ':path': '/wait' });
  const codes = [];
  for (const path of ['/close', '/destroy', '/client']) {
    const stream = client.request({ ':path': path, ':method': 'POST' }, { endStream: false });
    stream.on('error', () => undefined);
    if (path === '/client') await once(stream, 'response');
    if (path === '/client') stream.close(http2.constants.NGHTTP2_CANCEL);
    stream.resume();
    await new Promise((resolve) => stream.on('close', resolve));
    codes.push(stream.rstCode);
  }
  while (!ended.includes('/client 8')) await new Promise((resolve) => setTimeout(resolve, 5));
  waiting.end(' last');
  assert.equal((await other).body.toString(), 'first last');
  assert.deepEqual(codes, [7, 2, 8]);
  for (const line of ['/close 7', '/destroy 2', '/client aborted', '/client 8']) assert.ok(ended.includes(line), `${line} in ${ended}`);
});

test('the compatibility API of Node works on these streams', async (t) => {
  const server = createServer((req, res) => {
    assert.ok(req instanceof http2.Http2ServerRequest && res instanceof http2.Http2ServerResponse);
    assert.deepEqual([req.httpVersion, req.authority, req.scheme, res.socket.remoteAddress], ['2.0', req.headers[':authority'], 'http', '127.0.0.1']);
    if (req.method === 'POST') return void req.pipe(res);
    res.setHeader('x-a', 'a');
    res.addTrailers({ 'x-t': 't' });
    res.writeHead(202, { 'x-b': 'b' });
    res.write('one ');
    return void res.end('two');
  });
  const { client } = await listen(t, server);
  const { status, headers, body, trailers } = await ask(client);
  assert.deepEqual([status, headers['x-a'], headers['x-b'], body.toString(), trailers['x-t']], [202, 'a', 'b', 'one two', 't']);
  const sent = Buffer.alloc(500_000, 'x');
  assert.equal((await ask(client, { ':method': 'POST' }, sent)).body.equals(sent), true);
  const head = await ask(client, { ':method': 'HEAD' });
  assert.deepEqual([head.status, head.body.length, head.trailers], [202, 0, undefined]);
  const many = await Promise.all(Array.from({ length: 100 }, () => ask(client)));
  assert.ok(many.every((answer) => answer.body.toString() === 'one two'));
});

test('a secure server takes HTTP/2, and HTTP/1.1 where it is allowed', async (t) => {
  const server = createSecureServer({ ...pair, allowHTTP1: true }, (req, res) => res.end(`${req.httpVersion} ${req.socket.encrypted ?? req.stream.session.encrypted}`));
  const { client, port } = await listen(t, server);
  assert.equal((await ask(client)).body.toString(), '2.0 true');
  const [response] = await once(https.get({ port, host: '127.0.0.1', rejectUnauthorized: false, agent: false }), 'response');
  let text = '';
  for await (const part of response) text += part;
  assert.equal(text, '1.1 true');
});

test('a session ends behind its streams, and the server behind its sessions', async (t) => {
  const server = createServer();
  let session;
  let stream;
  server.on('session', (made) => (session = made));
  server.on('stream', (made) => (stream = made));
  const { client } = await listen(t, server);
  const waiting = ask(client);
  while (stream === undefined) await new Promise((resolve) => setImmediate(resolve));
  const closed = once(session, 'close');
  session.close();
  assert.deepEqual([session.closed, session.destroyed], [true, false]);
  stream.respond();
  stream.end('last');
  assert.equal((await waiting).body.toString(), 'last');
  await closed;
  assert.equal(session.destroyed, true);
  await new Promise((resolve) => server.close(resolve));
});
