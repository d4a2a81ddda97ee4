'use strict';
// A program whose server is in another process or thread: `node families.cjs KIND`.

const { fork } = require('node:child_process');
const cluster = require('node:cluster');
const http = require('node:http');
const { isMainThread, Worker } = require('node:worker_threads');

const serve = () => http.createServer((request, response) => response.end(String(process.pid))).listen(process.env.PORT);

const KINDS = {
  /** The primary serves nothing. */
  cluster: () => {
    if (cluster.isWorker) return void serve();
    let left = 2;
    cluster.on('listening', (worker, { port, addressType }) => {
      if (port !== Number(process.env.PORT) || addressType !== 6) console.log(`wrong ${port} ${addressType}`);
      if (--left === 0) console.log(`listening ${Object.values(cluster.workers).map((each) => each.process.pid).join(' ')}`);
    });
    for (let index = 0; index < 2; index++) cluster.fork();
  },
  /** The child speaks with its own parent. */
  fork: () => {
    if (process.send !== undefined && process.argv[3] === 'child') {
      serve().on('listening', () => process.send('ready'));
      return;
    }
    const child = fork(__filename, ['fork', 'child']);
    child.on('message', (message) => console.log(`listening ${child.pid} ${message}`));
  },
  /** A child that listens where its parent does. */
  'fork twice': () => {
    const server = serve();
    server.on('error', ({ code, syscall }) => console.log(`refused ${code} ${syscall}`));
    if (process.argv[3] !== 'child') server.on('listening', () => {
      console.log(`listening ${process.pid}`);
      fork(__filename, ['fork twice', 'child']);
    });
  },
  thread: () => {
    if (isMainThread) new Worker(__filename, { argv: ['thread'] });
    else serve().on('listening', () => console.log(`listening ${process.pid}`));
  },
};

KINDS[process.argv[2]]();
