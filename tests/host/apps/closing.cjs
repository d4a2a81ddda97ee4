'use strict';
// A process behind a host: node closing.cjs PREFIX. `/held` is never answered; all else is. It prints what becomes of each
// connection, and calls the methods of its server that its parent names.

const http = require('node:http');

const [prefix] = process.argv.slice(2);
const seen = new WeakSet();

const server = http.createServer((request, response) => {
  const { socket, url } = request;
  if (!seen.has(socket)) {
    seen.add(socket);
    socket.on('close', () => console.log(`closed ${url}`));
  }
  if (url.endsWith('/held')) console.log(`held ${url}`);
  else response.end('answered');
});
server.listen(prefix, () => console.log('listening'));

process.on('message', (method) => {
  server[method](() => console.log('server closed'));
  console.log(`called ${method}`);
});
