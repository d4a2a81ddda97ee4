'use strict';
/**
 * What a cell's own JavaScript costs: the handler of servers/node, with what it calls of npm and of Node, fed from memory.
 * No sockets and no server: the transport is an object that does nothing with what it is given. A server cannot cost less
 * than this and the floor in C together.
 *
 * node bench/javascript-floor.cjs CELL [SECONDS]     CELL: ws, ws-16k, pipe, upload
 *
 * Prints microseconds of CPU for a request, of all threads of the process: the median, least and most of ten slices.
 */
const { EventEmitter } = require('node:events');
const { Duplex, Writable } = require('node:stream');
const { setImmediate: nextPass } = require('node:timers/promises');

const CONNECTIONS = 100;
const PART = 64 * 1024;
const SLICES = 10;

/** A socket whose methods are as lean as such can be: what is written is counted, and nothing else happens. */
class NullSocket extends Duplex {
  written = 0;
  setTimeout() { return this; }
  setNoDelay() { return this; }
  cork() {}
  uncork() {}
  write(chunk) {
    this.written += chunk.length;
    return true;
  }
  _read() {}
}

/** Echoes of the `ws` handler: each message is a new piece of memory, as it is from a socket. */
function websocket(bytes) {
  const server = new EventEmitter();
  require('./servers/node/websocket.cjs').attach(server);
  const sockets = Array.from({ length: CONNECTIONS }, () => new NullSocket());
  for (const socket of sockets) {
    const headers = { upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' };
    server.emit('upgrade', { method: 'GET', url: '/', headers, socket }, socket, Buffer.alloc(0));
    socket.written = 0;
  }
  const head = bytes < 126 ? [0x82, 0x80 | bytes] : [0x82, 0xfe, bytes >> 8, bytes & 255];
  const frame = Buffer.concat([Buffer.from([...head, 7, 80, 113, 200]), Buffer.alloc(bytes, 'x')]);
  return async () => {
    for (const socket of sockets) socket.emit('data', Buffer.from(frame));
    await nextPass();
    for (const socket of sockets) {
      if (socket.written !== frame.length - 4) throw new Error(`${socket.written} bytes of an echo`);
      socket.written = 0;
    }
    return CONNECTIONS;
  };
}

/** A file of 1 MB through `pipe`, to a response that takes all. */
function pipe() {
  const handler = require('./servers/node/pipe.cjs');
  return () => new Promise((resolve) => {
    let left = 10;
    for (let count = left; count > 0; count--) {
      const response = new Writable({ write: (chunk, encoding, done) => done(), final: (done) => { done(); if (--left === 0) resolve(10); } });
      response.setHeader = () => {};
      handler({}, response);
    }
  });
}

/** A body of 1 MB by 'data', in parts of new memory. The copying into it is the kernel's, and counted there. */
function upload() {
  const handler = require('./servers/node/upload.cjs');
  return async () => {
    const request = new EventEmitter();
    const ended = new Promise((resolve) => handler(request, { setHeader() {}, end: resolve }));
    for (let part = 0; part < 16; part++) request.emit('data', Buffer.allocUnsafeSlow(PART));
    request.emit('end');
    await ended;
    await nextPass();
    return 1;
  };
}

const CELLS = { ws: () => websocket(64), 'ws-16k': () => websocket(16 * 1024), pipe, upload };

async function slice(pass, milliseconds) {
  const begin = process.cpuUsage();
  const end = performance.now() + milliseconds;
  let requests = 0;
  while (performance.now() < end) requests += await pass();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / requests;
}

async function main([cell, seconds = '5']) {
  if (!Object.hasOwn(CELLS, cell)) throw new RangeError(`CELL is one of ${Object.keys(CELLS).join(', ')}`);
  const pass = CELLS[cell]();
  await slice(pass, 2000);
  const slices = [];
  for (let count = 0; count < SLICES; count++) slices.push(await slice(pass, Number(seconds) * 1000 / SLICES));
  slices.sort((one, other) => one - other);
  const [least, middle, most] = [0, SLICES / 2, SLICES - 1].map((index) => slices[index].toFixed(2));
  console.log(`${cell}, Node ${process.version}: ${middle} [${least} to ${most}] µs`);
}

void main(process.argv.slice(2));
