// 'close' of a server whose last connection the program did not know of: it never said anything.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { test } from 'node:test';
import './support/https.mjs';

const http = (await import('node:http')).default;
const https = (await import('node:https')).default;

/** Listens, lets `visit` connect and leave, and closes in between. */
async function closesAround(server, visit) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const leave = await visit(server.address().port);
  const closed = new Promise((resolve) => server.close(resolve));
  leave();
  await closed;
  assert.equal(server.listening, false);
}

async function silent(port) {
  const socket = net.connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return () => socket.destroy();
}

test('an http server closes when a client that said nothing has gone', () => closesAround(http.createServer(), silent));

test('an https server closes when a client that said nothing has gone', () => closesAround(https.createServer(), silent));

test('an https server closes when a client has given up before its first byte', () => (
  closesAround(https.createServer(), async (port) => {
    // OpenSSL itself refuses to begin.
    const socket = tls.connect({ port, host: '127.0.0.1', maxVersion: 'TLSv1.1', rejectUnauthorized: false });
    await once(socket, 'error');
    return () => {};
  })));
