'use strict';
// A process behind a host: node member.cjs PREFIX [NAME]. What it does is in the last segment of the path.

const http = require('node:http');

const [prefix, name = String(process.pid)] = process.argv.slice(2);
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const ACTIONS = {
  name: (request, response) => response.end(name),
  pid: (request, response) => response.end(String(process.pid)),
  url: (request, response) => response.end(request.url),
  /** Answers after so many milliseconds. */
  slow: async (request, response, query) => {
    await wait(Number(query.get('ms')));
    response.end(name);
  },
  /** Keeps the event loop busy for so many milliseconds. */
  busy: (request, response, query) => {
    const until = Date.now() + Number(query.get('ms'));
    while (Date.now() < until);
    response.end(name);
  },
  echo: (request, response) => request.pipe(response),
  count: async (request, response) => {
    let bytes = 0;
    for await (const part of request) bytes += part.length;
    response.end(String(bytes));
  },
  big: (request, response, query) => response.end(Buffer.alloc(Number(query.get('bytes')), 'x')),
  /** Two writes apart, so that the answer asks to be told when it has been sent. */
  parts: (request, response) => {
    response.write('first ');
    setImmediate(() => response.end('second'));
  },
  never: () => undefined,
  half: (request, response) => {
    response.writeHead(200, { 'Content-Length': '1000' });
    response.write('only the beginning');
  },
  chunks: (request, response) => {
    response.write('only the beginning');
  },
  die: () => process.kill(process.pid, 'SIGKILL'),
  throw: () => {
    throw new Error('as the test wants it');
  },
  facts: (request, response) => {
    const { socket } = request;
    response.end(JSON.stringify({
      remoteAddress: socket.remoteAddress, remotePort: socket.remotePort, localPort: socket.localPort,
      encrypted: socket.encrypted === true, host: request.headers.host, sameSocket: socket === response.socket,
    }));
  },
  /** Server-sent events until the client leaves. */
  events: (request, response) => {
    response.setHeader('Content-Type', 'text/event-stream');
    response.write('data: hello\n\n');
    response.on('close', () => console.log(`closed ${request.url}`));
  },
  aborted: (request, response) => {
    request.on('aborted', () => console.log('aborted'));
    response.on('close', () => console.log('closed'));
  },
};

const server = http.createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const action = ACTIONS[pathname.split('/').pop()] ?? ACTIONS.name;
  action(request, response, searchParams);
});
server.on('upgrade', (request, socket, head) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
  socket.write(head);
  socket.pipe(socket);
});
server.on('error', (error) => {
  console.log(`error ${error.code} ${error.message}`);
  process.exitCode = 1;
});
server.listen(prefix, () => console.log(`listening ${JSON.stringify(server.address())}`));

process.on('SIGTERM', () => server.close(() => process.exit(0)));
process.on('message', (message) => {
  if (message === 'close') server.close(() => process.send('closed'));
});
