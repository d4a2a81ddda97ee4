'use strict';
// server.close and its siblings, with connections in every state.

const http = require('node:http');
const net = require('node:net');
const { once } = require('node:events');
const { attempt, exchange, get, listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const KEEP = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const GET_IDLE = 'GET /idle HTTP/1.1\r\nHost: a\r\n\r\n';
const connections = (server) => new Promise((resolve) => server.getConnections((error, count) => resolve(count)));

/** A client for each state that a connection can be in. Which are left when the server has closed some of them? */
async function closeByState(log, method) {
  const server = http.createServer((req, res) => {
    if (req.url === '/idle') return res.end('idle');
    if (req.url === '/begun') res.write('begun');
    req.resume();
    return log(req.url, 'request');
  });
  const tunnels = [];
  for (const event of ['upgrade', 'connect']) {
    server.on(event, (req, socket) => {
      tunnels.push(socket);
      socket.on('error', () => {});
      socket.write(`HTTP/1.1 200 OK\r\n\r\n${event} done`);
      socket.on('data', (bytes) => socket.write(`echo ${bytes}`));
    });
  }
  const port = await listen(server);
  const states = {
    silent: ['', ''], 'half a head': ['GET / HTTP/1.1\r\nHo', ''], 'half a second head': [`${GET_IDLE}GET / HT`, 'idle'], idle: [GET_IDLE, 'idle'],
    busy: ['GET /busy HTTP/1.1\r\nHost: a\r\n\r\n', ''], begun: ['GET /begun HTTP/1.1\r\nHost: a\r\n\r\n', 'begun'],
    'half a body': ['POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf', ''],
    pipelined: [`GET /first HTTP/1.1\r\nHost: a\r\n\r\n${GET_IDLE}`, ''],
    upgraded: ['GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', 'upgrade done'],
    tunnel: ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 'connect done'],
  };
  const clients = {};
  for (const [state, [bytes, answer]] of Object.entries(states)) {
    clients[state] = new RawClient(port).write(bytes);
    if (answer !== '') await clients[state].until(answer);
  }
  // What was sent has arrived when a request that came later has been answered.
  await exchange(port, get('/idle'));
  while (await connections(server) !== Object.keys(states).length) await new Promise((resolve) => setTimeout(resolve, 5));
  server[method]();
  const closed = () => Object.keys(states).filter((state) => clients[state].ended || clients[state].socket.destroyed);
  let count = -1;
  // Until no further one closes.
  while (closed().length !== count) {
    count = closed().length;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  log('wire', method, closed());
  for (const state of ['upgraded', 'tunnel']) {
    clients[state].write('hello');
    await clients[state].until('echo hello');
    log('wire', state, clients[state].text());
    clients[state].destroy();
  }
  server.closeAllConnections();
  server.close();
  for (const state of Object.keys(states)) await clients[state].all();
}

module.exports = {
  close_without_connections: async (log) => {
    const server = http.createServer();
    await listen(server);
    log('server', 'listening', server.listening);
    server.on('close', () => log('server', 'close event'));
    log('server', server.close((error) => log('server', 'callback', error ?? 'no error')) === server);
    log('server', 'listening', server.listening);
    await once(server, 'close');
  },
  close_when_not_listening: async (log) => {
    const server = http.createServer();
    await new Promise((resolve) => server.close((error) => resolve(log('server', error))));
  },
  close_twice: async (log) => {
    const server = http.createServer();
    await listen(server);
    server.close();
    await new Promise((resolve) => server.close((error) => resolve(log('server', error))));
  },
  close_ends_idle_connections: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const client = new RawClient(await listen(server));
    client.write(KEEP);
    await client.until('x');
    server.close((error) => log('server', 'closed', error ?? 'no error'));
    await client.all();
    log('wire', client.ended);
    await waitFor(() => !server.listening);
  },
  close_waits_for_a_request_in_flight: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 100 }, (req, res) => {
      log('server', 'request');
      server.close(() => log('server', 'closed'));
      setTimeout(() => res.end('answer', () => log('server', 'answered')), 50);
    });
    const client = new RawClient(await listen(server));
    client.write(KEEP);
    log('wire', await client.all());
    await new Promise((resolve) => setTimeout(resolve, 30));
  },
  close_refuses_new_connections: async (log) => {
    const server = http.createServer((req, res) => setTimeout(() => res.end('x'), 50));
    const port = await listen(server);
    const first = new RawClient(port);
    first.write(get());
    await once(server, 'request');
    server.close();
    const second = new RawClient(port);
    await second.all();
    log('wire', second.error?.code, await first.all());
  },
  a_connection_without_a_request_does_not_hold_close_when_closed: async (log) => {
    const server = http.createServer();
    const client = new RawClient(await listen(server));
    await once(server, 'connection');
    log('server', await connections(server));
    server.close(() => log('server', 'closed'));
    server.closeAllConnections();
    await client.all();
    await new Promise((resolve) => setTimeout(resolve, 20));
  },
  closeAllConnections_ends_requests_in_flight: async (log) => {
    const server = http.createServer((req, res) => {
      res.on('close', () => log('server', 'res close', res.writableFinished));
      req.on('close', () => log('server', 'req close'));
      req.on('aborted', () => log('server', 'aborted'));
      req.on('error', (error) => log('server', 'req', error));
      server.close(() => log('server', 'closed'));
      server.closeAllConnections();
    });
    const client = new RawClient(await listen(server));
    client.write(KEEP);
    log('wire', await client.all());
    await new Promise((resolve) => setTimeout(resolve, 30));
  },
  closeIdleConnections_spares_the_busy: async (log) => {
    let answer;
    const server = http.createServer((req, res) => {
      if (req.url === '/busy') answer = res;
      else res.end('x');
    });
    const port = await listen(server);
    const idle = new RawClient(port);
    idle.write(KEEP);
    await idle.until('x');
    const busy = new RawClient(port);
    busy.write(get('/busy'));
    await waitFor(() => answer);
    log('server', await connections(server));
    server.closeIdleConnections();
    await idle.all();
    log('wire', idle.ended, busy.ended);
    answer.end('busy');
    log('wire', await busy.all());
    await close(server);
  },
  closeAllConnections_by_state: (log) => closeByState(log, 'closeAllConnections'),
  closeIdleConnections_by_state: (log) => closeByState(log, 'closeIdleConnections'),
  close_by_state: (log) => closeByState(log, 'close'),
  asyncDispose_closes: async (log) => {
    const server = http.createServer();
    await listen(server);
    if (Symbol.asyncDispose === undefined || !server[Symbol.asyncDispose]) {
      server.close();
      return;
    }
    await server[Symbol.asyncDispose]();
    log('server', server.listening);
  },
  a_server_can_listen_again: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    for (let round = 0; round < 3; round += 1) {
      log('wire', await exchange(await listen(server), get()));
      await close(server);
      log('server', server.address());
    }
  },
  address_and_listening: async (log) => {
    const server = http.createServer();
    log('server', server.address(), server.listening);
    await listen(server);
    const { address, family, port } = server.address();
    log('server', address, family, typeof port);
    await close(server);
    log('server', server.address(), server.listening);
  },
  listen_argument_forms: async (log) => {
    const forms = {
      nothing: [],
      zero: [0],
      text: ['0'],
      host: [0, '127.0.0.1'],
      hostAndBacklog: [0, '127.0.0.1', 10],
      object: [{ port: 0, host: '127.0.0.1', backlog: 5 }],
      undefinedPort: [undefined],
      exclusive: [{ port: 0, exclusive: true }],
      v6: [0, '::1'],
      v6only: [{ port: 0, host: '::', ipv6Only: true }],
    };
    for (const [name, args] of Object.entries(forms)) {
      const server = http.createServer((req, res) => res.end('x'));
      await new Promise((resolve) => server.listen(...args, resolve));
      const { address, family, port } = server.address();
      const host = address.includes(':') ? '::1' : '127.0.0.1';
      const client = new RawClient(port, { host });
      client.write(get());
      log('server', name, address, family, (await client.all()).endsWith('x'));
      await close(server);
    }
  },
  listen_on_a_unix_socket: async (log) => {
    const path = `${require('node:os').tmpdir()}/portico-${process.pid}.sock`;
    const server = http.createServer((req, res) => {
      log('server', req.socket.remoteAddress === undefined, req.socket.address());
      res.end('x');
    });
    await new Promise((resolve) => server.listen(path, resolve));
    log('server', server.address() === path);
    const client = new RawClient(undefined, { path, port: undefined });
    client.write(get());
    log('wire', await client.all());
    await close(server);
    log('server', require('node:fs').existsSync(path));
  },
  listen_on_a_net_server: async (log) => {
    const first = net.createServer();
    first.listen(0, '127.0.0.1');
    await once(first, 'listening');
    const server = http.createServer((req, res) => res.end('x'));
    server.listen(first);
    await once(server, 'listening');
    log('wire', await exchange(server.address().port, get()));
    await close(server);
  },
  a_taken_port_is_an_error_event: async (log) => {
    const first = http.createServer();
    const port = await listen(first);
    const second = http.createServer();
    second.listen(port, '127.0.0.1');
    const [error] = await once(second, 'error');
    log('server', error.code, error.syscall, error.address, error.port === port, error.errno < 0, second.listening);
    second.listen(0, '127.0.0.1');
    await once(second, 'listening');
    log('server', second.listening);
    await close(second);
    await close(first);
  },
  an_impossible_path_is_an_error_event: async (log) => {
    const server = http.createServer();
    server.listen('/no/such/folder/portico.sock');
    const [error] = await once(server, 'error');
    log('server', error.code, error.syscall);
  },
  an_unknown_host_is_an_error_event: async (log) => {
    const server = http.createServer();
    server.listen(0, '192.0.2.1');
    const [error] = await once(server, 'error');
    log('server', error.code, error.syscall, error.address);
  },
  bad_listen_arguments_throw: async (log) => {
    for (const value of [-1, 65536, 'x y', { port: 'abc' }, {}, { port: 1.5 }, false]) {
      const server = http.createServer();
      server.on('error', () => {});
      log('server', attempt(() => server.listen(value) === server));
      server.close();
    }
  },
  listening_twice_throws: async (log) => {
    const server = http.createServer();
    await listen(server);
    log('server', attempt(() => server.listen(0)));
    await close(server);
  },
  an_abort_signal_closes: async (log) => {
    const controller = new AbortController();
    const server = http.createServer();
    server.listen({ port: 0, host: '127.0.0.1', signal: controller.signal });
    await once(server, 'listening');
    controller.abort();
    await once(server, 'close');
    log('server', server.listening);
  },
  an_answer_after_close_in_its_handler: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 100 }, (req, res) => {
      server.close();
      res.end('x');
    });
    const client = new RawClient(await listen(server));
    client.write(KEEP);
    log('wire', await client.all());
  },
  close_waits_for_a_connection_that_says_nothing: async (log) => {
    const server = http.createServer();
    const client = new RawClient(await listen(server));
    await once(client.socket, 'connect');
    await waitFor(() => server._connections === 1);
    const closed = new Promise((resolve) => server.close(resolve));
    log('server', await Promise.race([closed.then(() => 'closed'), new Promise((resolve) => setTimeout(resolve, 30, 'waits'))]));
    client.destroy();
    await closed;
    log('server', 'closed');
  },
  close_after_an_answer_ends_the_connection: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
      setImmediate(() => {
        res.end('x');
        server.close();
      });
    });
    const client = new RawClient(await listen(server));
    client.write(KEEP);
    log('wire', await client.all());
  },
  close_right_after_a_large_answer_that_is_read_slowly: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
      res.end(Buffer.alloc(4 * 1024 * 1024), () => server.close());
    });
    const client = new RawClient(await listen(server));
    client.write(KEEP);
    log('wire', (await client.all()).length);
  },
};
