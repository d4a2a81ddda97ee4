'use strict';
// A program with the habits of those that PM2 and Kubernetes run: it says when it is ready, closes its server when it is told
// to end, and does the rest when nothing is left to do.

const http = require('node:http');
const { setTimeout: pause } = require('node:timers/promises');

const server = http.createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/slow') await pause(Number(searchParams.get('ms')));
  if (pathname === '/body') return void request.pipe(response);
  if (pathname === '/large') return void response.end(Buffer.alloc(1 << 20, 'x'));
  response.end(String(process.pid));
});
server.listen(process.env.PORT, () => {
  console.log(`listening ${process.pid}`);
  process.send?.('ready');
});
process.on('SIGTERM', () => {
  console.log(`told to end ${process.pid}`);
  server.close(() => console.log(`closed ${process.pid}`));
});
process.on('beforeExit', () => console.log(`ends ${process.pid}`));
