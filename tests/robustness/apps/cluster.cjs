'use strict';
// A cluster as Node's documentation writes it. POLICY: rr or none. A worker that dies is replaced.

const cluster = require('node:cluster');
const http = require('node:http');

const WORKERS = 2;

if (cluster.isPrimary) {
  cluster.schedulingPolicy = process.env.POLICY === 'none' ? cluster.SCHED_NONE : cluster.SCHED_RR;
  let listening = 0;
  let stopping = false;
  let alive = WORKERS;
  cluster.on('listening', (worker, address) => {
    listening += 1;
    console.log(`worker ${worker.process.pid} ready`);
    if (listening === WORKERS) console.log(`listening on ${address.port}`);
  });
  cluster.on('exit', (worker, code, signal) => {
    console.log(`worker ${worker.process.pid} ended ${signal ?? code}`);
    if (!stopping) cluster.fork();
    else if ((alive -= 1) === 0) process.exit(0);
  });
  process.on('SIGTERM', () => {
    stopping = true;
    cluster.disconnect();
  });
  for (let i = 0; i < WORKERS; i += 1) cluster.fork();
} else {
  process.removeAllListeners('SIGTERM'); // 'disconnect' ends a worker
  const server = http.createServer((req, res) => {
    res.setHeader('X-Worker', process.pid);
    if (req.url === '/exit') {
      res.end('bye', () => process.exit(9));
    } else if (req.url === '/slow') {
      setTimeout(() => res.end('slow'), 300);
    } else if (req.url === '/echo') {
      req.pipe(res);
    } else res.end(`${process.pid}`);
  });
  server.on('upgrade', (req, socket) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nupgraded');
  });
  server.listen(process.env.PORT, '127.0.0.1');
}
