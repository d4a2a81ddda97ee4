// Node keeps an idle connection a second longer than `keepAliveTimeout` says, so that a client that sends at the last
// moment is still heard. Node 20 does without having a property for it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import '../dist/register.js';

const BUFFER_MS = 1000;
const ATTEMPTS = 10;
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

const server = http.createServer({ keepAliveTimeout: 1 }, (req, res) => res.end('x'));

/** Asks twice with a pause between; how long the pause was is measured, since a busy machine may stretch it. */
async function askTwice(pauseMs) {
  const socket = net.connect(server.address().port, '127.0.0.1');
  let answers = 0;
  socket.on('data', (bytes) => { answers += bytes.toString().split('HTTP/1.1 200').length - 1; });
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  const firstAsked = performance.now();
  socket.write(GET);
  while (answers === 0) await once(socket, 'data');
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  socket.write(GET);
  const pause = performance.now() - firstAsked;
  const ended = await Promise.race([closed.then(() => true), once(socket, 'data').then(() => false, () => true)]);
  if (!ended) await closed;
  return { pause, answers };
}

test('an idle connection is heard after its keepAliveTimeout, and then closed', async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { pause, answers } = await askTwice(300);
    // An answer that came late proves it too; that none came says something only if the request was in time.
    if (answers === 2) break;
    assert.ok(pause > BUFFER_MS / 2, `no answer after ${pause} ms`);
    assert.notEqual(attempt, ATTEMPTS - 1, 'the machine was too busy to tell');
  }
  server.close();
});
