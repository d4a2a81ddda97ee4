// Answers whose bodies stay in this program's memory until they have been sent, while that memory is collected,
// transferred, shrunk and grown, and while clients leave. Serves and visits itself, on a port of its own or at the URL prefix
// that is its argument, and prints a line for each scene. scripts/asan.sh runs it under AddressSanitizer.
//
// Needs --expose-gc.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import net from 'node:net';
import tls from 'node:tls';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ResponseReader } from '../lib/response-reader.mjs';

const require = createRequire(import.meta.url);
const { pattern, Tally } = require('../matrix/pattern.cjs');

const BODY_BYTES = pattern().length;
const MB = 1 << 20;
const onEngine = process.env.PORTICO_REQUIRE === '1';
const [prefix] = isMainThread ? process.argv.slice(2) : [workerData.prefix];

/** The pattern in memory of its own, which nothing but its answer refers to. */
const fresh = () => Uint8Array.from(pattern());

/** What the answers that are being sent lie in, by the last part of the path, so that a scene can take it away. */
const lent = new Map();

const ANSWERS = {
  shared: (response) => response.end(pattern()),
  small: (response) => response.end('small'),
  fresh: (response) => response.end(fresh()),
  /** Parts of one array: below and above what is copied, at odd places. */
  parts: (response) => {
    const bytes = fresh();
    let at = 0;
    for (let length = 1; at + length < bytes.length; length = length * 3 + 1) {
      response.write(bytes.subarray(at, at + length));
      at += length;
    }
    response.end(bytes.subarray(at));
  },
  transferred: (response) => {
    const bytes = fresh();
    lent.set('transferred', bytes.buffer);
    response.end(bytes);
  },
  shrunk: (response) => {
    const buffer = new ArrayBuffer(BODY_BYTES, { maxByteLength: BODY_BYTES });
    const bytes = new Uint8Array(buffer);
    bytes.set(pattern());
    lent.set('shrunk', buffer);
    response.end(bytes);
  },
  grown: (response) => {
    const memory = new WebAssembly.Memory({ initial: BODY_BYTES / 65_536, maximum: BODY_BYTES / 65_536 + 64 });
    const bytes = new Uint8Array(memory.buffer);
    bytes.set(pattern());
    lent.set('grown', memory);
    response.end(bytes);
  },
  /** Taken away while it is kept to the end of the tick, and the answer ends at once, later, or corked. */
  kept: (response) => {
    writeAndTransfer(response, fresh());
    response.end('more');
  },
  'kept-small': (response) => {
    writeAndTransfer(response, Uint8Array.from(pattern().subarray(0, 100)));
    setImmediate(() => response.end('more'));
  },
  'kept-corked': (response) => {
    response.cork();
    response.write('before');
    writeAndTransfer(response, Uint8Array.from(pattern().subarray(0, 100)));
    setImmediate(() => response.end('more'));
  },
  /** By Node's own `write`, as agents that have wrapped it call it. */
  'kept-by-node': (response) => {
    const write = (chunk) => http.OutgoingMessage.prototype.write.call(response, chunk);
    response.cork();
    write('before');
    const bytes = Uint8Array.from(pattern().subarray(0, 100));
    write(bytes);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    setImmediate(() => response.end('more'));
  },
  destroyed: (response) => {
    response.write(fresh());
    setTimeout(() => response.destroy(), 20);
  },
};

function writeAndTransfer(response, bytes) {
  response.write(bytes);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
}

const handler = (request, response) => ANSWERS[request.url.split('/').at(-1)](response);

/** Listens and resolves with where: `{ port, folder }`. */
async function listen(server, name = '') {
  if (prefix === undefined) server.listen(0, '127.0.0.1');
  else server.listen(`${prefix}${name}`);
  await once(server, 'listening');
  return { port: server.address().port, folder: prefix === undefined ? '/' : new URL(`${prefix}${name}`).pathname };
}

/**
 * A client that asks for `name` so many times at once and reads, `slow`ly or as fast as it can, until `enough` bytes of
 * bodies have come; then it leaves. Resolves with `{ whole, bytes }`, the number of complete answers and bytes, and
 * rejects if one of them is not of the pattern.
 */
async function visit({ port, folder, secure }, name, { times = 1, enough = times * BODY_BYTES, leave = 'resetAndDestroy', slow = false } = {}) {
  const socket = secure ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }) : net.connect(port, '127.0.0.1');
  await once(socket, secure ? 'secureConnect' : 'connect');
  socket.on('error', () => undefined);
  const result = { whole: 0, bytes: 0, broken: undefined };
  let tally = new Tally();
  const reader = new ResponseReader({
    methodOf: () => 'GET',
    onInterim: () => undefined,
    onHead: () => (tally = new Tally()),
    onBody: (bytes) => {
      result.bytes += bytes.length;
      if (name !== 'small') tally.add(bytes);
      if (!tally.right) result.broken = `${tally}`;
    },
    onEnd: () => (result.whole += 1),
    onBroken: (why) => (result.broken = why),
  });
  socket.write(`GET ${folder}${name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(times));
  socket.on('data', function read(bytes) {
    reader.feed(bytes);
    if (result.bytes >= enough || result.whole === times) {
      socket.off('data', read).resume();
      socket[secure ? 'destroy' : leave]();
    } else if (slow) {
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    }
  });
  await closed(socket);
  assert.equal(result.broken, undefined);
  return result;
}

/** A client that asks and does not read until it is told to: `{ readOn }`, which resolves with what `visit` does. */
async function ask({ port, folder }, name) {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET ${folder}${name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  await once(socket, 'readable');
  return {
    socket,
    /** Resolves with the bytes behind the head that come before the connection ends. */
    readOn: async () => {
      const parts = [];
      socket.on('data', (part) => parts.push(part));
      await closed(socket);
      const bytes = Buffer.concat(parts);
      return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
    },
  };
}

/** Resolves when a socket has closed, with or without an error. */
const closed = (socket) => new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', resolve)));

/** What has been taken away while it was sent: its connection ends early, and no other byte than its own went out. */
async function takenAway(place, name, takeAway) {
  const client = await ask(place, name);
  takeAway(lent.get(name));
  lent.delete(name);
  for (let round = 0; round < 3; round += 1) globalThis.gc();
  const noise = Array.from({ length: 4 }, () => Buffer.alloc(BODY_BYTES, '!')); // takes the place of what was freed
  const bytes = await client.readOn();
  assert.ok(bytes.length < BODY_BYTES && noise.length === 4);
  assert.equal(pattern().compare(bytes, 0, bytes.length, 0, bytes.length), 0, 'other bytes than the body went out');
}

const SCENES = {
  'one buffer for many clients, of which most leave in the middle': async (place) => {
    const leaves = ['resetAndDestroy', 'end', 'destroy', 'destroySoon'];
    await Promise.all(Array.from({ length: 24 }, async (_, index) => {
      if (index % 3 === 0) return assert.equal((await visit(place, 'shared', { slow: index % 2 === 0 })).whole, 1);
      return visit(place, 'shared', { enough: index * MB / 4, leave: leaves[index % 4] });
    }));
  },
  'bodies to which nothing refers but their answers': async (place) => {
    const results = await Promise.all(Array.from({ length: 6 }, (_, index) => visit(place, 'fresh', { slow: index % 2 === 0 })));
    assert.deepEqual(results.map(({ whole }) => whole), Array(6).fill(1));
  },
  'parts of one array': async (place) => {
    assert.equal((await visit(place, 'parts', { slow: true })).whole, 1);
    await visit(place, 'parts', { enough: 3 * MB });
  },
  'pipelined requests of a client that leaves, and of one that does not': async (place) => {
    await visit(place, 'shared', { times: 100, enough: 25 * MB });
    await visit(place, 'fresh', { times: 5, enough: 15 * MB });
    assert.equal((await visit(place, 'shared', { times: 5, enough: Infinity })).whole, 5);
  },
  'answers that the program destroys': async (place) => {
    await Promise.all(Array.from({ length: 4 }, () => visit(place, 'destroyed', { slow: true })));
  },
  ...(onEngine && {
    'a transferred ArrayBuffer': (place) => takenAway(place, 'transferred', (buffer) => structuredClone(buffer, { transfer: [buffer] })),
    'an ArrayBuffer that is transferred before its bytes are handed over': async (place) => {
      for (const name of ['kept', 'kept-small', 'kept-corked', 'kept-by-node']) assert.equal((await visit(place, name)).whole, 0, name);
    },
    'a shrunk ArrayBuffer': (place) => takenAway(place, 'shrunk', (buffer) => buffer.resize(MB)),
    'the memory of WebAssembly that has grown': (place) => takenAway(place, 'grown', (memory) => memory.grow(64)),
  }),
  'bodies over TLS': async () => {
    if (prefix !== undefined) return; // the certificate would be the host's
    const { key, cert } = require('../lib/certificate.cjs');
    const server = https.createServer({ key, cert }, handler);
    const place = { ...(await listen(server)), secure: true };
    assert.equal((await visit(place, 'fresh', { slow: true })).whole, 1);
    await visit(place, 'shared', { enough: MB });
    await visit(place, 'fresh', { times: 3, enough: 15 * MB });
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  },
  'a worker that ends while its bodies are being sent': async () => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { prefix } });
    const [place] = await once(worker, 'message');
    const clients = await Promise.all(['shared', 'fresh', 'fresh', 'parts'].map((name) => ask(place, name)));
    await worker.terminate();
    for (const client of clients) assert.ok((await client.readOn()).length < BODY_BYTES);
  },
};

if (isMainThread) await main();
else parentPort.postMessage(await listen(http.createServer(handler), 'worker/'));

async function main() {
  const server = http.createServer(handler);
  const place = await listen(server);
  const collector = setInterval(() => globalThis.gc(), 100);
  for (const [name, scene] of Object.entries(SCENES)) {
    await scene(place);
    assert.equal((await visit(place, 'small')).whole, 1);
    console.log(`ok: ${name}`);
  }
  clearInterval(collector);
  // The process ends while bodies are on their way.
  for (const name of ['shared', 'fresh', 'parts']) await ask(place, name);
  console.log('ok: all');
  process.exit(0);
}
