// CONNECT: the socket of a tunnel is an ordinary stream, and TLS runs over it.

import 'portico/register';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { certificates } from './support/certificates.mjs';

/** A listening server that is gone at the test's end, and a client in a tunnel through it. */
async function tunnel(t, serve) {
  const server = http.createServer();
  server.on('connect', (request, socket, head) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    serve(socket, head);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect(server.address().port, '127.0.0.1');
  t.after(() => {
    client.destroy();
    server.close();
  });
  client.write('CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = await once(client, 'data');
  assert.match(answer.toString(), /^HTTP\/1.1 200 OK/);
  return client;
}

/** A promise and the function that keeps it. */
function deferred() {
  let keep;
  const promise = new Promise((resolve) => { keep = resolve; });
  return [promise, keep];
}

async function text(stream) {
  let all = '';
  for await (const part of stream) all += part;
  return all;
}

test('a tunnel carries bytes both ways, and each side ends by itself', async (t) => {
  const client = await tunnel(t, (socket) => socket.pipe(socket));
  const sent = 'x'.repeat(1_000_000);
  client.end(sent);
  assert.equal(await text(client), sent);
});

test('a reader who waits stops the writer', async (t) => {
  let written = 0;
  const [filled, full] = deferred();
  const client = await tunnel(t, (socket) => {
    const chunk = Buffer.alloc(65_536);
    const write = () => {
      while (socket.write(chunk)) written += chunk.length;
      full();
    };
    socket.on('error', () => {});
    write();
  });
  client.pause();
  await filled;
  assert.ok(written < 64 * 1024 * 1024);
});

test('counters and addresses live through the end of the socket', async (t) => {
  const [closed, resolve] = deferred();
  const client = await tunnel(t, (socket) => {
    socket.on('data', () => socket.end('bye'));
    socket.on('close', () => resolve([socket.bytesRead, socket.bytesWritten]));
  });
  client.write('hello');
  client.resume();
  const [read, written] = await closed;
  assert.equal(read, 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\nhello'.length);
  assert.equal(written, 'HTTP/1.1 200 OK\r\n\r\nbye'.length);
});

test('a proxy ends TLS inside a tunnel', async (t) => {
  const { key, cert } = certificates().issue('tunnel');
  const inner = http.createServer((request, response) => {
    let bytes = 0;
    request.on('data', (part) => { bytes += part.length; });
    request.on('end', () => response.end(`${bytes} ${request.socket.encrypted}`));
  });
  const client = await tunnel(t, (socket) => inner.emit('connection', new tls.TLSSocket(socket, { isServer: true, key, cert })));
  const secure = tls.connect({ socket: client, rejectUnauthorized: false });
  await once(secure, 'secureConnect');
  secure.write('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 200000\r\n\r\n');
  secure.write(Buffer.alloc(200_000));
  assert.match(await text(secure), /\r\n\r\n200000 true$/);
});
