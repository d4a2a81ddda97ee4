// `portico/http2`: what sessions tell their clients, and hear of them, beside streams; server push.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { certificates } from './support/certificates.mjs';

process.env.PORTICO_REQUIRE = '1';
const { createServer, createSecureServer } = (await import('portico/http2')).default;
const pair = certificates().issue('http2-session');

/** A server, its first session, and a client. */
async function start(t, server = createServer(), options = {}) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const made = once(server, 'session');
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const client = http2.connect(`${scheme}://localhost:${server.address().port}`, { rejectUnauthorized: false, ...options });
  client.on('error', () => undefined);
  t.after(() => {
    client.destroy();
    server.close();
  });
  const [[session]] = await Promise.all([made, once(client, 'connect')]);
  return { server, client, session };
}

async function bodyOf(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

test('settings go both ways, and are told when they hold', async (t) => {
  const { client, session } = await start(t, createServer({ settings: { maxConcurrentStreams: 7 } }), { settings: { initialWindowSize: 123_456, enablePush: false } });
  assert.equal(session.pendingSettingsAck, true);
  if (client.remoteSettings.maxConcurrentStreams !== 7) await once(client, 'remoteSettings');
  assert.equal(client.remoteSettings.maxConcurrentStreams, 7);
  while (session.remoteSettings.initialWindowSize !== 123_456) await once(session, 'remoteSettings');
  assert.equal(session.remoteSettings.enablePush, false);
  while (session.pendingSettingsAck) await once(session, 'localSettings');
  assert.equal(session.localSettings.maxConcurrentStreams, 7);
  const changed = new Promise((resolve) => session.settings({ maxConcurrentStreams: 3 }, (...args) => resolve(args)));
  const [error, settings, duration] = await changed;
  assert.deepEqual([error, settings.maxConcurrentStreams, typeof duration], [null, 3, 'number']);
  assert.equal(client.remoteSettings.maxConcurrentStreams, 3);
  assert.throws(() => session.settings({ maxFrameSize: 1 }), { code: 'ERR_HTTP2_INVALID_SETTING_VALUE' });
});

test('pings are answered both ways, counted, and given up with the session', async (t) => {
  const { client, session } = await start(t, createServer({ maxOutstandingPings: 2 }));
  const payload = Buffer.from('12345678');
  const heard = once(session, 'ping');
  await new Promise((resolve) => client.ping(payload, resolve));
  assert.deepEqual((await heard)[0], payload);
  const answers = [];
  const answer = (name) => (error, duration, bytes) => answers.push([name, error?.code ?? null, bytes?.toString()]);
  const second = new Promise((resolve) => {
    assert.equal(session.ping(payload, answer('first')), true);
    assert.equal(session.ping(Buffer.from('abcdefgh'), (...args) => resolve(answer('second')(...args))), true);
    assert.equal(session.ping(answer('third')), false);
  });
  await second;
  assert.deepEqual(answers, [['third', 'ERR_HTTP2_PING_CANCEL', undefined], ['first', null, '12345678'], ['second', null, 'abcdefgh']]);
  assert.throws(() => session.ping(Buffer.alloc(7), () => undefined), { code: 'ERR_HTTP2_PING_LENGTH' });
  const lost = new Promise((resolve) => session.ping((error) => resolve(error.code)));
  session.destroy();
  assert.equal(await lost, 'ERR_HTTP2_PING_CANCEL');
  assert.throws(() => session.ping(() => undefined), { code: 'ERR_HTTP2_INVALID_SESSION' });
});

test('GOAWAY goes both ways, with code and data', async (t) => {
  const { client, session } = await start(t);
  const heard = once(client, 'goaway');
  session.goaway(0, 0, Buffer.from('bye'));
  const [code, , data] = await heard;
  assert.deepEqual([code, data.toString()], [0, 'bye']);
  const other = await start(t);
  const told = once(other.session, 'goaway');
  const failed = once(other.session, 'error');
  other.client.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.equal((await told)[0], http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.equal((await failed)[0].code, 'ERR_HTTP2_SESSION_ERROR');
});

test('a session that is destroyed for an error says so', async (t) => {
  const { client, server, session } = await start(t);
  const errors = [];
  server.on('sessionError', (error) => errors.push(error.code));
  const heard = once(client, 'goaway');
  session.destroy(http2.constants.NGHTTP2_REFUSED_STREAM);
  assert.equal((await heard)[0], http2.constants.NGHTTP2_REFUSED_STREAM);
  if (errors.length === 0) await once(server, 'sessionError');
  assert.deepEqual(errors, ['ERR_HTTP2_SESSION_ERROR']);
});

test('what is no HTTP/2 ends its session with an error of nghttp2', async (t) => {
  const server = createServer();
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const failed = once(server, 'sessionError');
  const client = net.connect(server.address().port, '127.0.0.1').on('error', () => undefined);
  client.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [error] = await failed;
  assert.deepEqual([error.code, error.errno], ['ERR_HTTP2_ERROR', -903]);
});

test('alternative services, origins and the connection\'s window', async (t) => {
  const { client, session } = await start(t, createSecureServer({ ...pair, origins: ['https://first.example'] }));
  const events = [];
  const all = new Promise((resolve) => {
    const note = (event) => {
      events.push(event);
      if (events.length === 3) resolve();
    };
    client.on('altsvc', (alt, origin) => note(`altsvc ${alt} ${origin}`));
    client.on('origin', (origins) => note(`origin ${origins}`));
  });
  session.altsvc('h2=":8000"', 'https://a.example/path');
  session.origin('https://b.example/x', { origin: 'https://c.example' });
  await all;
  assert.deepEqual(events.sort(), ['altsvc h2=":8000" https://a.example', 'origin https://b.example,https://c.example', 'origin https://first.example']);
  assert.throws(() => session.altsvc('h2', 'foo:'), { code: 'ERR_HTTP2_ALTSVC_INVALID_ORIGIN' });
  assert.throws(() => session.origin(1), { code: 'ERR_INVALID_ARG_TYPE' });
  session.setLocalWindowSize(1 << 20);
  assert.equal(session.state.localWindowSize, 1 << 20);
  assert.throws(() => session.setLocalWindowSize(-1), { code: 'ERR_OUT_OF_RANGE' });
});

test('streams are pushed, to clients that take them', async (t) => {
  const server = createServer();
  const codes = [];
  server.on('stream', (stream) => {
    if (!stream.pushAllowed) {
      assert.throws(() => stream.pushStream({}, () => undefined), { code: 'ERR_HTTP2_PUSH_DISABLED' });
      stream.respond();
      return stream.end('not pushed');
    }
    stream.pushStream({ ':path': '/pushed', 'x-a': 'b' }, (error, push, headers) => {
      codes.push(error, push.id, headers[':path'], push.pushAllowed);
      assert.throws(() => push.pushStream({}, () => undefined), { code: 'ERR_HTTP2_NESTED_PUSH' });
      push.respond({ 'x-c': 'd' });
      push.end('pushed');
    });
    stream.respond();
    return stream.end('asked for');
  });
  const { client } = await start(t, server);
  const pushed = once(client, 'stream');
  const stream = client.request({ ':path': '/' });
  const [push, request] = await pushed;
  const [answer] = await once(push, 'push');
  assert.deepEqual([request[':path'], request['x-a'], answer['x-c']], ['/pushed', 'b', 'd']);
  assert.deepEqual(await Promise.all([bodyOf(stream), bodyOf(push)]), ['asked for', 'pushed']);
  assert.deepEqual(codes, [null, 2, '/pushed', true]);
  const plain = http2.connect(`http://localhost:${server.address().port}`, { settings: { enablePush: false } });
  t.after(() => plain.destroy());
  assert.equal(await bodyOf(plain.request({ ':path': '/' })), 'not pushed');
});

test('a client of a secure server that has not asked for HTTP/2 is told, or given to the program', async (t) => {
  const server = createSecureServer(pair);
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connect = () => tls.connect({ port: server.address().port, host: '127.0.0.1', rejectUnauthorized: false });
  assert.match(await bodyOf(connect()), /^HTTP\/1\.0 403 Forbidden\r\n[^]*Missing ALPN Protocol/);
  server.on('unknownProtocol', (socket) => socket.end('mine'));
  assert.equal(await bodyOf(connect()), 'mine');
});

test('methods are any tokens, and the socket is only looked at', async (t) => {
  const server = createServer();
  server.on('stream', (stream, headers) => {
    const { socket } = stream.session;
    assert.ok(socket instanceof net.Socket);
    assert.throws(() => socket.destroy(), { code: 'ERR_HTTP2_NO_SOCKET_MANIPULATION' });
    stream.respond();
    stream.end(`${headers[':method']} ${typeof socket.remotePort}`);
  });
  const { client } = await start(t, server);
  for (const method of ['GET', 'FOO', 'a_b']) {
    assert.equal(await bodyOf(client.request({ ':path': '/', ':method': method }).end()), `${method} number`);
  }
});
