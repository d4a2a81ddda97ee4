'use strict';
// A program with several servers: its own on PORT, one for metrics on METRICS, one on a port of the system's, and one of TCP.

const http = require('node:http');
const net = require('node:net');

const main = http.createServer((request, response) => {
  const { socket } = request;
  response.end(JSON.stringify({ url: request.url, encrypted: socket.encrypted === true, remoteAddress: socket.remoteAddress }));
});
const metrics = http.createServer((request, response) => response.end('metrics'));
const own = http.createServer((request, response) => response.end('own'));
const tcp = net.createServer((socket) => socket.end('tcp'));

main.listen(process.env.PORT, () => {
  metrics.listen(Number(process.env.METRICS), () => {
    own.listen(0, '127.0.0.1', () => {
      tcp.listen(0, () => console.log(`listening ${own.address().port} ${tcp.address().port} ${JSON.stringify(main.address())}`));
    });
  });
});
