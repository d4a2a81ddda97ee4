'use strict';
// A program that goes on after exceptions, and answers errors of its clients as Node's documentation shows: `failing.cjs PREFIX`.

const http = require('node:http');

const HANDLERS = {
  'ended': (res) => res.end('ended'),
  'begun': (res) => res.write('begun'),
  'nothing': () => undefined,
};

process.on('uncaughtException', (error) => console.log(`caught ${error.message}`));

const server = http.createServer((req, res) => {
  const name = req.url.split('/').at(-1);
  if (name === 'next') return res.end('next');
  HANDLERS[name](res);
  throw new Error(name);
});

server.on('clientError', (error, socket) => {
  console.log(`clientError ${error.code}`);
  if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
});

server.listen(process.argv[2], () => console.log('listening'));
