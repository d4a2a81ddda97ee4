'use strict';
// When and how a process with a server ends.

const http = require('node:http');
const { exchange, get, listen, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const KEEP = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const noteExit = (log) => {
  process.on('beforeExit', () => log('process', 'beforeExit'));
  process.on('exit', (code) => log('process', 'exit', code));
};
/** A listening server holds the process: this notes that it did, and ends it. */
const endLater = (log, ms = 300) => setTimeout(() => {
  log('process', 'still here');
  process.exit(7);
}, ms);

module.exports = {
  a_server_that_never_listened: async (log) => {
    noteExit(log);
    http.createServer(() => {});
  },
  a_closed_server: async (log) => {
    noteExit(log);
    const server = http.createServer((req, res) => res.end('x'));
    log('wire', await exchange(await listen(server), get()));
    server.close(() => log('server', 'closed'));
  },
  a_listening_server_holds_the_process: async (log) => {
    noteExit(log);
    await listen(http.createServer());
    endLater(log).unref();
  },
  an_unreferenced_server_does_not: async (log) => {
    noteExit(log);
    const server = http.createServer();
    await listen(server);
    log('server', server.unref() === server);
    endLater(log).unref();
  },
  unref_before_listen: async (log) => {
    noteExit(log);
    const server = http.createServer();
    server.unref();
    server.listen(0, '127.0.0.1');
    endLater(log).unref();
  },
  ref_after_unref_holds_it: async (log) => {
    noteExit(log);
    const server = http.createServer();
    await listen(server);
    server.unref();
    server.ref();
    endLater(log).unref();
  },
  an_unreferenced_server_still_serves: async (log) => {
    noteExit(log);
    const server = http.createServer((req, res) => res.end('x'));
    const port = await listen(server);
    server.unref();
    log('wire', await exchange(port, get()));
  },
  a_request_in_flight_holds_a_closed_server: async (log, clientProcess) => {
    noteExit(log);
    const server = http.createServer((req, res) => {
      server.close(() => log('server', 'closed'));
      setTimeout(() => res.end('answer'), 100).unref();
    });
    clientProcess(await listen(server), get()).unref();
  },
  a_request_in_flight_holds_an_unreferenced_server: async (log, clientProcess) => {
    noteExit(log);
    const server = http.createServer((req, res) => {
      server.unref();
      setTimeout(() => {
        res.end('answer', () => log('server', 'answered'));
      }, 100).unref();
    });
    clientProcess(await listen(server), get()).unref();
    endLater(log, 3000).unref();
  },
  a_keep_alive_connection_is_closed_with_its_server: async (log, clientProcess) => {
    noteExit(log);
    const server = http.createServer((req, res) => {
      res.end('x');
      setTimeout(() => server.close(() => log('server', 'closed')), 100);
    });
    clientProcess(await listen(server), KEEP).unref();
  },
  process_exit_in_a_handler: async (log, clientProcess) => {
    noteExit(log);
    const server = http.createServer(() => process.exit(3));
    clientProcess(await listen(server), KEEP);
  },
  process_exit_right_after_end_still_answers: async (log, clientProcess) => {
    noteExit(log);
    const server = http.createServer((req, res) => {
      res.end('last words');
      process.exit(4);
    });
    clientProcess(await listen(server), KEEP);
  },
  process_exit_right_after_a_write_still_sends_it: async (log, clientProcess) => {
    noteExit(log);
    const server = http.createServer((req, res) => {
      res.write('last ');
      res.write('words');
      process.exit(4);
    });
    clientProcess(await listen(server), KEEP);
  },
  process_exit_with_requests_in_flight: async (log, clientProcess) => {
    noteExit(log);
    let count = 0;
    const server = http.createServer(() => {
      count += 1;
      if (count === 3) setTimeout(() => process.exit(5), 50);
    });
    const port = await listen(server);
    for (let i = 0; i < 3; i += 1) clientProcess(port, KEEP);
  },
  exit_while_a_large_answer_is_sent: async (log) => {
    noteExit(log);
    const server = http.createServer((req, res) => {
      res.write(Buffer.alloc(50 << 20));
      setTimeout(() => process.exit(6), 50);
    });
    const client = new RawClient(await listen(server));
    client.socket.pause();
    client.write(KEEP);
  },
  sigterm_closes_with_grace: async (log, clientProcess) => {
    noteExit(log);
    process.on('SIGTERM', () => {
      log('process', 'SIGTERM');
      server.close(() => log('server', 'closed'));
    });
    const server = http.createServer((req, res) => {
      process.kill(process.pid, 'SIGTERM');
      setTimeout(() => res.end('answer'), 100);
    });
    clientProcess(await listen(server), get());
  },
  sigterm_without_listener_kills: async (log, clientProcess) => {
    const server = http.createServer(() => process.kill(process.pid, 'SIGTERM'));
    clientProcess(await listen(server), KEEP);
  },
  sigint_default_kills: async () => {
    const server = http.createServer();
    await listen(server);
    process.kill(process.pid, 'SIGINT');
  },
  abort_with_connections: async (log) => {
    const server = http.createServer(() => process.kill(process.pid, 'SIGKILL'));
    new RawClient(await listen(server)).write(KEEP);
    log('process', 'waiting');
  },
  requests_in_an_exit_listener_are_too_late: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const port = await listen(server);
    log('wire', await exchange(port, get()));
    process.on('exit', () => {
      server.close();
      log('process', 'exit');
    });
    process.exit(0);
  },
  many_servers_in_one_process: async (log) => {
    noteExit(log);
    const servers = Array.from({ length: 50 }, (_, index) => http.createServer((req, res) => res.end(`${index}`)));
    const ports = await Promise.all(servers.map(listen));
    log('wire', (await Promise.all(ports.map((port) => exchange(port, get())))).map((text) => text.split('\r\n\r\n')[1]).join());
    for (const server of servers) server.close();
  },
  garbage_collected_servers: async (log) => {
    noteExit(log);
    for (let i = 0; i < 2000; i += 1) http.createServer(() => {});
    for (let i = 0; i < 100; i += 1) {
      const server = http.createServer((req, res) => res.end('x'));
      await exchange(await listen(server), get());
      await new Promise((resolve) => server.close(resolve));
    }
  },
  worker_threads_serve_and_end: async (log) => {
    noteExit(log);
    const { Worker } = require('node:worker_threads');
    const source = `
      const http = require('node:http');
      const { parentPort } = require('node:worker_threads');
      const server = http.createServer((req, res) => (req.url === '/never' ? parentPort.postMessage('stuck') : res.end('thread')));
      server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
      parentPort.on('message', () => { server.close(); parentPort.close(); });`;
    for (const how of ['close', 'terminate', 'terminate in flight']) {
      const workers = [new Worker(source, { eval: true }), new Worker(source, { eval: true })];
      const ports = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
      for (const port of ports) log('wire', (await exchange(port, get())).slice(-6));
      if (how === 'terminate in flight') {
        const stuck = ports.map((port) => new RawClient(port).write(KEEP.replace('/', '/never')));
        await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
        log('process', await Promise.all(workers.map((worker) => worker.terminate())));
        await Promise.all(stuck.map((client) => client.all()));
        continue;
      }
      const exits = workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
      for (const worker of workers) how === 'close' ? worker.postMessage('end') : worker.terminate();
      log('process', how, await Promise.all(exits));
    }
  },
  an_exception_in_a_worker_thread_stays_there: async (log) => {
    noteExit(log);
    const { Worker } = require('node:worker_threads');
    const source = `
      const http = require('node:http');
      const server = http.createServer(() => { throw new Error('in the thread'); });
      server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port));`;
    const worker = new Worker(source, { eval: true });
    worker.on('error', (error) => log('process', 'worker error', error.message));
    worker.on('exit', (code) => log('process', 'worker exit', code));
    const port = await new Promise((resolve) => worker.once('message', resolve));
    const client = new RawClient(port).write(KEEP);
    await waitFor(() => client.socket.destroyed);
  },
};
