'use strict';
// Answers that name their requests: /KIND/BYTES/ID is answered with the id in the field x-id, and before and behind the
// pattern in the body. Run as `app.cjs PORT` or `app.cjs PREFIX`; it prints `listening PORT`.

const http = require('node:http');
const { pattern, Tally } = require('../matrix/pattern.cjs');

const [where] = process.argv.slice(2);
const tick = () => new Promise((resolve) => setImmediate(resolve));

const KINDS = {
  /** Content-Length, in three writes. */
  length: (request, response, id, bytes) => {
    response.writeHead(200, { 'X-Id': id, 'Content-Length': bytes + 2 * id.length + 2 });
    writeNamed(response, id, bytes);
  },
  chunked: (request, response, id, bytes) => {
    response.setHeader('X-Id', id);
    writeNamed(response, id, bytes);
  },
  /** One string, after a hop. */
  text: async (request, response, id, bytes) => {
    await tick();
    response.setHeader('X-Id', id);
    response.end(`${id}|${pattern(bytes).latin1Slice()}|${id}`);
  },
  late: (request, response, id, bytes) => void setTimeout(KINDS.length, Number(id) % 30, request, response, id, bytes),
  echo: (request, response, id) => {
    response.setHeader('X-Id', id);
    request.pipe(response);
  },
  /** Reads the body slowly, and says whether it was the right one. */
  read: async (request, response, id, bytes) => {
    let seen = 0;
    const tally = new Tally();
    for await (const part of request) {
      tally.add(part.subarray(Math.max(0, id.length + 1 - seen), Math.max(0, id.length + 1 + bytes - seen)));
      seen += part.length;
      await tick();
    }
    response.setHeader('X-Id', id);
    response.end(`${id}|${seen === bytes + 2 * id.length + 2 && tally.right && tally.bytes === bytes ? 'right' : `wrong: ${seen} bytes`}|${id}`);
  },
  /** Does not read the body, and answers a little later. */
  refuse: async (request, response, id) => {
    await tick();
    response.writeHead(413, { 'X-Id': id });
    response.end(`${id}|right|${id}`);
  },
};

function writeNamed(response, id, bytes) {
  response.write(`${id}|`);
  response.write(pattern(bytes));
  response.end(`|${id}`);
}

const server = http.createServer((request, response) => {
  const [kind, bytes, id] = request.url.split('/').slice(-3);
  response.setHeader('X-Pid', process.pid);
  const result = KINDS[kind](request, response, id, Number(bytes));
  if (result instanceof Promise) result.catch(() => response.destroy()); // the client has left
});
server.on('upgrade', (request, socket, head) => {
  const id = request.url.split('/').at(-1);
  socket.on('error', () => undefined);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\nX-Id: ${id}\r\n\r\n`);
  socket.write(head);
  socket.pipe(socket);
});
server.on('error', (error) => {
  console.error(error);
  process.exitCode = 1;
});
server.keepAliveTimeout = 60_000;
server.listen(/^\d+$/.test(where) ? Number(where) : where, () => console.log(`listening ${server.address().port}`));
process.on('SIGTERM', () => server.close(() => process.exit(0)));
