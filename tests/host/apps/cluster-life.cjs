'use strict';
// The life of a cluster, told line by line: node cluster-life.cjs WHERE, a URL prefix or a port. `disconnect` on the
// primary's standard input disconnects it.

const cluster = require('node:cluster');
const http = require('node:http');

const [where] = process.argv.slice(2);
const WORKERS = 2;

if (cluster.isPrimary) {
  let listening = 0;
  let held;
  const say = (line) => console.log(line);
  cluster.on('listening', (worker, address) => {
    say(`worker ${worker.state} on ${address.addressType} ${typeof address.port}`);
    if (++listening === WORKERS) say('listening');
  });
  cluster.on('message', (worker, message) => {
    say(message);
    held ??= worker.id;
  });
  cluster.on('disconnect', (worker) => say(worker.id === held ? 'the held worker is disconnected' : 'the free worker is disconnected'));
  cluster.on('exit', (worker, status, signal) => say(`worker ended with ${status ?? signal}, expected: ${worker.exitedAfterDisconnect}`));
  for (let count = 0; count < WORKERS; count++) cluster.fork();
  say(`workers ${Object.values(cluster.workers).map(({ process: { pid } }) => pid).join(' ')}`);
  process.stdin.once('data', () => cluster.disconnect(() => {
    say('all disconnected');
    process.stdin.destroy();
  }));
} else {
  http.createServer((request, response) => {
    process.send('asked');
    process.once('disconnect', () => console.log('the worker hears disconnect'));
    response.setHeader('Connection', 'close');
    setTimeout(() => response.end('answered'), 300);
  }).listen(/^\d+$/.test(where) ? { port: Number(where), host: '127.0.0.1' } : where);
}
