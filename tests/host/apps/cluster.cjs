'use strict';
// A cluster behind a host: node cluster.cjs PREFIX. Every worker registers the prefix.

const cluster = require('node:cluster');
const http = require('node:http');

const WORKERS = 3;

if (cluster.isPrimary) {
  let listening = 0;
  for (let count = 0; count < WORKERS; count++) cluster.fork();
  cluster.on('message', () => {
    if (++listening === WORKERS) console.log('listening');
  });
} else {
  const server = http.createServer((request, response) => setTimeout(() => response.end(String(cluster.worker.id)), 20));
  server.listen(process.argv[2], () => process.send('listening'));
}
