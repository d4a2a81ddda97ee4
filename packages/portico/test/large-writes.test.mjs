// Large writes that the kernel takes at once are acknowledged in the same turn of the event loop, as in Node.

import 'portico/register';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';

/** At least any Node's `highWaterMark`. */
const LARGE = Buffer.alloc(72 * 1024, 'x');
/** More than the kernel takes for a client that does not read. */
const TOO_LARGE = Buffer.alloc(16 * 1024 * 1024, 'x');

/** A client of a listening server, both gone at the test's end; it does not read before it is told to. */
async function connect(t, server, request) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect(server.address().port, '127.0.0.1');
  t.after(() => {
    client.destroy();
    server.close();
  });
  client.pause();
  client.write(request);
  return client;
}

/** Resolves with what was noted once there are so many notes. */
function notes(count) {
  const { promise, resolve } = withResolvers();
  const noted = [];
  const note = (what) => {
    noted.push(what);
    if (noted.length === count) resolve(noted);
  };
  return { note, noted: promise };
}

function withResolvers() {
  let resolve;
  const promise = new Promise((keep) => { resolve = keep; });
  return { promise, resolve };
}

test('\'drain\' of a response whose write the kernel has taken comes before the turn ends', async (t) => {
  const { note, noted } = notes(4);
  const server = http.createServer((request, response) => {
    response.on('drain', () => note(`drain ${response.writableLength}`));
    note(`write ${response.write(LARGE, () => note('callback'))}`);
    setImmediate(note, 'immediate');
  });
  await connect(t, server, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.deepEqual(await noted, ['write false', 'drain 0', 'callback', 'immediate']);
});

test('the callback of a tunnel\'s write that the kernel has taken comes before the turn ends', async (t) => {
  const { note, noted } = notes(4);
  const server = http.createServer().on('connect', (request, socket) => {
    socket.on('error', () => {}); // The test's end resets it.
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.write(LARGE, () => note('callback'));
    note(`writableLength ${socket.writableLength}`);
    process.nextTick(note, 'tick');
    setImmediate(note, 'immediate');
  });
  await connect(t, server, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.deepEqual(await noted, ['writableLength 0', 'callback', 'tick', 'immediate']);
});

test('a write that the kernel has not taken is acknowledged when its reader has made room', async (t) => {
  const { note, noted } = notes(4);
  let client;
  const server = http.createServer((request, response) => {
    response.on('drain', () => note('drain'));
    response.write(TOO_LARGE, () => note('callback'));
    setImmediate(() => {
      note(`waiting ${response.writableNeedDrain}`);
      client.resume();
    });
    note('written');
  });
  client = await connect(t, server, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.deepEqual(await noted, ['written', 'waiting true', 'drain', 'callback']);
});

test('so is one of a tunnel', async (t) => {
  const { note, noted } = notes(3);
  let client;
  const server = http.createServer().on('connect', (request, socket) => {
    socket.on('error', () => {}); // The test's end resets it.
    socket.write(TOO_LARGE, () => note('callback'));
    setImmediate(() => {
      note(`waiting ${socket.writableLength}`);
      client.resume();
    });
    socket.write('last', () => note('last'));
  });
  client = await connect(t, server, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.deepEqual(await noted, [`waiting ${TOO_LARGE.length + 4}`, 'callback', 'last']);
});
