// CONNECT in a stream of HTTP/2: 'upgrade' for one that names a protocol, 'connect' for others, and what their sockets are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, once, request, serve } from './support/http2.mjs';

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\nX-Extra: yes\r\n\r\n';
const EXTENDED = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/chat', ':scheme': 'http', 'sec-websocket-version': '13' };

/** A server that echoes what it gets in tunnels, and a client. */
async function echo(t, answer = SWITCH) {
  const requests = [];
  const server = await serve(t, (req, res) => res.end('plain'));
  for (const event of ['upgrade', 'connect']) {
    server.on(event, (req, socket, head) => {
      requests.push({ event, req, socket });
      socket.write(answer);
      socket.write(head);
      socket.pipe(socket);
    });
  }
  const client = await connect(t, server);
  if (!client.remoteSettings.enableConnectProtocol) await once(client, 'remoteSettings');
  return { server, client, requests };
}

async function text(stream) {
  let all = '';
  for await (const part of stream.setEncoding('utf8')) all += part;
  return all;
}

test('an extended CONNECT is an upgrade of HTTP/1.1, and its 101 the stream\'s 200', async (t) => {
  const { client, requests } = await echo(t);
  assert.equal(client.remoteSettings.enableConnectProtocol, true);
  const stream = client.request(EXTENDED, { endStream: false });
  const [headers] = await once(stream, 'response');
  assert.equal(headers[':status'], 200);
  assert.deepEqual(Object.keys(headers).filter((name) => !name.startsWith(':') && name !== 'date'), ['x-extra']);
  const [{ event, req, socket }] = requests;
  assert.deepEqual([event, req.method, req.url, req.httpVersion, req.complete], ['upgrade', 'GET', '/chat', '2.0', true]);
  assert.deepEqual([req.headers.upgrade, req.headers.connection, req.headers['sec-websocket-version']], ['websocket', 'Upgrade', '13']);
  assert.match(req.headers['sec-websocket-key'], /^[+/0-9A-Za-z]{22}==$/);
  assert.equal(':protocol' in req.headers || req.rawHeaders.includes(':protocol'), false);
  assert.equal(socket.remoteAddress, '127.0.0.1');
  stream.write('one ');
  stream.end('two');
  assert.equal(await text(stream), 'one two');
});

test('large transfers in a tunnel come through, and a reader that waits stops the writer', async (t) => {
  const { client, requests } = await echo(t);
  const stream = client.request(EXTENDED, { endStream: false });
  await once(stream, 'response');
  const sent = 'abcdefghij'.repeat(300_000);
  stream.end(sent);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(requests[0].socket.bytesWritten >= 0);
  assert.equal((await request(client)).body.toString(), 'plain');
  assert.equal(await text(stream), sent);
});

test('a large write in a tunnel leaves in the frames of its stream, and so does that of an ordinary answer', async (t) => {
  const large = Buffer.alloc(72 * 1024, 'x');
  const written = [];
  const server = await serve(t, (req, res) => res.write(large, () => res.end()));
  server.on('upgrade', (req, socket) => {
    socket.write(SWITCH);
    socket.write(large, () => written.push('large'));
    socket.end('end', () => written.push('end'));
  });
  const client = await connect(t, server);
  if (!client.remoteSettings.enableConnectProtocol) await once(client, 'remoteSettings');
  const stream = client.request(EXTENDED, { endStream: false });
  assert.equal(await text(stream), `${large}end`);
  assert.deepEqual(written, ['large', 'end']);
  assert.equal((await request(client)).body.toString(), large.toString());
});

test('a socket that is destroyed resets its stream and no other; one whose client resets is closed', async (t) => {
  const { client, requests } = await echo(t);
  const [first, second] = [client.request(EXTENDED, { endStream: false }), client.request(EXTENDED, { endStream: false })];
  for (const stream of [first, second]) stream.on('error', () => undefined);
  await Promise.all([once(first, 'response'), once(second, 'response')]);
  requests[0].socket.destroy();
  await once(first, 'close');
  assert.equal(first.rstCode, 8);
  second.write('alive');
  const [part] = await once(second, 'data');
  assert.equal(part.toString(), 'alive');
  second.close(8);
  await once(requests[1].socket, 'close');
});

test('an upgrade may be refused by an answer, with a body', async (t) => {
  const server = await serve(t, (req, res) => res.end('plain'));
  server.on('upgrade', (req, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno'));
  const client = await connect(t, server);
  if (!client.remoteSettings.enableConnectProtocol) await once(client, 'remoteSettings');
  const stream = client.request(EXTENDED, { endStream: false });
  const [headers] = await once(stream, 'response');
  assert.deepEqual([headers[':status'], headers['content-length']], [401, '2']);
  assert.equal(await text(stream), 'no');
});

test('without a listener a CONNECT is answered with 501', async (t) => {
  const server = await serve(t, (req, res) => res.end('plain'));
  const client = await connect(t, server);
  if (!client.remoteSettings.enableConnectProtocol) await once(client, 'remoteSettings');
  for (const headers of [EXTENDED, { ':method': 'CONNECT', ':authority': 'example.org:443' }]) {
    const stream = client.request(headers, { endStream: false });
    stream.on('error', () => undefined);
    const [answer] = await once(stream, 'response');
    assert.equal(answer[':status'], 501);
    stream.resume();
  }
  assert.equal((await request(client)).body.toString(), 'plain');
});

test('an ordinary CONNECT is a tunnel', async (t) => {
  const { client, requests } = await echo(t, 'HTTP/1.1 200 Connection Established\r\n\r\n');
  const stream = client.request({ ':method': 'CONNECT', ':authority': 'example.org:443' }, { endStream: false });
  const [headers] = await once(stream, 'response');
  assert.equal(headers[':status'], 200);
  assert.deepEqual([requests[0].event, requests[0].req.method, requests[0].req.url], ['connect', 'CONNECT', 'example.org:443']);
  stream.end('through');
  assert.equal(await text(stream), 'through');
});

test('what is written to a tunnel must begin with an answer', async (t) => {
  const server = await serve(t);
  let failed;
  const error = new Promise((resolve) => (failed = resolve));
  server.on('upgrade', (req, socket) => {
    socket.on('error', failed);
    socket.write('hello');
  });
  const client = await connect(t, server);
  if (!client.remoteSettings.enableConnectProtocol) await once(client, 'remoteSettings');
  const stream = client.request(EXTENDED, { endStream: false });
  stream.on('error', () => undefined);
  assert.equal((await error).code, 'ERR_PORTICO_TUNNEL_ANSWER');
  await once(stream, 'close');
});
