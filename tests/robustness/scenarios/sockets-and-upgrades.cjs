'use strict';
// req.socket as a net.Socket, and connections that leave HTTP.

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');
const { once } = require('node:events');
const { exchange, get, listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');
const { key, cert } = require('../lib/certificate.cjs');

const UPGRADE = 'GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';
const ACCEPT = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n';

module.exports = {
  a_socket_has_addresses_and_counters: async (log) => {
    const server = http.createServer((req, res) => {
      const { socket } = req;
      log('server', socket instanceof net.Socket, socket === res.socket, socket === req.connection, socket === res.connection);
      log('server', socket.remoteAddress, socket.remoteFamily, typeof socket.remotePort, socket.localAddress, socket.localPort === server.address().port);
      log('server', socket.address().address, socket.readyState, socket.connecting, socket.destroyed, socket.pending, socket.encrypted === undefined);
      log('server', socket.server === server, socket.allowHalfOpen, socket.bytesRead > 0, socket.bytesWritten, socket.timeout ?? 'none');
      res.end('hello', () => log('server', 'written', socket.bytesWritten > 50));
    });
    await exchange(await listen(server), get());
    await close(server);
  },
  a_socket_is_the_same_for_all_requests_of_a_connection: async (log) => {
    const seen = new Set();
    const server = http.createServer((req, res) => {
      seen.add(req.socket);
      req.socket.mark = (req.socket.mark ?? 0) + 1;
      res.end(`${req.socket.mark}`);
    });
    server.on('connection', (socket) => seen.add(socket));
    log('wire', await exchange(await listen(server), `GET / HTTP/1.1\r\nHost: a\r\n\r\n${get()}`));
    log('server', seen.size);
    await close(server);
  },
  a_socket_without_connection_listener: async (log) => {
    const server = http.createServer((req, res) => {
      req.socket.on('close', (hadError) => log('server', 'close', hadError));
      res.end('x');
    });
    await exchange(await listen(server), get());
    await new Promise((resolve) => setTimeout(resolve, 20));
    await close(server);
  },
  res_socket_is_gone_after_the_answer: async (log) => {
    const server = http.createServer((req, res) => {
      res.on('finish', () => log('server', 'finish', res.socket === null, req.socket !== null));
      res.on('close', () => log('server', 'close', res.socket === null));
      res.end('x');
    });
    await exchange(await listen(server), get());
    await close(server);
  },
  socket_options_return_the_socket: async (log) => {
    const server = http.createServer((req, res) => {
      const { socket } = req;
      log('server', socket.setNoDelay(true) === socket, socket.setKeepAlive(true, 1000) === socket, socket.ref() === socket, socket.unref() === socket);
      res.end('x');
    });
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  a_socket_can_be_written_directly: async (log) => {
    const server = http.createServer((req) => {
      req.socket.write('HTTP/1.1 200 By Hand\r\nConnection: close\r\n\r\n');
      req.socket.end('body');
    });
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  socket_end_flushes_the_answer: async (log) => {
    const server = http.createServer((req, res) => {
      res.write('part');
      setTimeout(() => req.socket.end(), 20); // at once, some versions of Node lose the part
    });
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  destroySoon_flushes_the_answer: async (log) => {
    const server = http.createServer((req, res) => {
      res.end('whole');
      req.socket.destroySoon();
    });
    log('wire', await exchange(await listen(server), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    await close(server);
  },
  an_upgrade_is_a_two_way_stream: async (log) => {
    const server = http.createServer(() => log('server', 'request'));
    server.on('upgrade', (req, socket, head) => {
      log('server', req.url, req.headers.upgrade, req.upgrade, head, socket === req.socket, socket instanceof net.Socket);
      socket.write(ACCEPT);
      socket.on('data', (part) => socket.write(part));
      socket.on('end', () => {
        log('server', 'end');
        socket.end('bye');
      });
      socket.on('close', () => log('server', 'close'));
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(UPGRADE);
    await client.until('\r\n\r\n');
    client.write('ping');
    await client.until('ping');
    client.socket.end();
    log('wire', await client.all());
    await close(server);
  },
  bytes_after_an_upgrade_are_its_head: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket, head) => socket.end(`${ACCEPT}${head}`));
    log('wire', await exchange(await listen(server), `${UPGRADE}early bytes`));
    await close(server);
  },
  an_upgraded_socket_sends_what_was_corked: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket) => {
      socket.write(ACCEPT);
      const parts = { buffers: [Buffer.from('a'), Buffer.from('b')], texts: ['c', 'd'], mixed: [Buffer.from('e'), 'f', Buffer.from('67', 'hex')] };
      for (const [name, list] of Object.entries(parts)) {
        socket.cork();
        for (const part of list) socket.write(part, () => log('server', name));
        socket.uncork();
      }
      socket.end(Buffer.from('last'));
    });
    log('wire', await exchange(await listen(server), UPGRADE));
    await close(server);
  },
  an_upgraded_socket_moves_much_data: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket) => {
      socket.write(ACCEPT);
      socket.pipe(socket);
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(UPGRADE);
    await client.until('\r\n\r\n');
    const size = 3 << 20;
    client.socket.end(Buffer.alloc(size, 'z'));
    log('wire', (await client.all()).length - ACCEPT.length === size);
    await close(server);
  },
  an_upgraded_socket_is_not_timed_out: async (log) => {
    const server = http.createServer({ connectionsCheckingInterval: 20, headersTimeout: 60, requestTimeout: 60, keepAliveTimeout: 60 });
    server.on('upgrade', (req, socket) => {
      socket.write(ACCEPT);
      setTimeout(() => socket.end('late'), 300);
    });
    log('wire', await exchange(await listen(server), UPGRADE));
    await close(server);
  },
  an_upgraded_socket_of_tls_ends_with_its_client: async (log) => {
    for (const options of [{}, { allowHalfOpen: true }]) {
      const server = https.createServer({ key, cert, ...options });
      server.on('upgrade', (req, socket) => {
        log('server', socket.allowHalfOpen);
        for (const event of ['end', 'finish', 'close']) socket.on(event, () => log('server', event));
        socket.write(ACCEPT);
        socket.resume().on('end', () => setTimeout(() => socket.end(), 50));
      });
      const client = tls.connect({ port: await listen(server), host: '127.0.0.1', rejectUnauthorized: false, allowHalfOpen: true });
      client.write(UPGRADE);
      await once(client, 'data');
      client.end();
      await once(client.resume(), 'end');
      await new Promise((resolve) => setTimeout(resolve, 100));
      client.destroy();
      await close(server);
    }
  },
  an_upgrade_that_is_not_wanted_is_a_request: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', req.upgrade);
      res.setHeader('Connection', 'close');
      res.end('plain');
    });
    log('wire', await exchange(await listen(server), UPGRADE));
    await close(server);
  },
  a_refused_upgrade: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n'));
    log('wire', await exchange(await listen(server), UPGRADE));
    await close(server);
  },
  a_destroyed_upgrade: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket) => socket.destroy());
    log('wire', await exchange(await listen(server), UPGRADE));
    await close(server);
  },
  connect_is_a_tunnel: async (log) => {
    const server = http.createServer(() => log('server', 'request'));
    server.on('connect', (req, socket, head) => {
      log('server', req.method, req.url, head.toString());
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.once('data', (part) => socket.end(`got ${part}`));
    });
    const client = new RawClient(await listen(server));
    client.write('CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n');
    await client.until('\r\n\r\n');
    client.write('opaque');
    log('wire', await client.all());
    await close(server);
  },
  connect_that_is_not_wanted_is_closed: async (log) => {
    const server = http.createServer(() => log('server', 'request'));
    log('wire', await exchange(await listen(server), 'CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n'));
    await close(server);
  },
  an_upgrade_after_a_keep_alive_request: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    server.on('upgrade', (req, socket, head) => socket.end(`${ACCEPT}${head}`));
    log('wire', await exchange(await listen(server), `GET / HTTP/1.1\r\nHost: a\r\n\r\n${UPGRADE}more`));
    await close(server);
  },
  upgraded_connections_outlive_close: async (log) => {
    const server = http.createServer();
    let upgraded;
    server.on('upgrade', (req, socket) => {
      upgraded = socket;
      socket.write(ACCEPT);
    });
    const client = new RawClient(await listen(server));
    client.write(UPGRADE);
    await waitFor(() => upgraded);
    server.close(() => log('server', 'closed'));
    server.closeAllConnections();
    await new Promise((resolve) => setTimeout(resolve, 50));
    log('wire', client.ended);
    upgraded.end('bye');
    log('wire', await client.all());
    await new Promise((resolve) => setTimeout(resolve, 20));
  },
  a_connection_can_be_given_to_the_server: async (log) => {
    const server = http.createServer((req, res) => res.end(req.url));
    const front = net.createServer((socket) => server.emit('connection', socket));
    log('wire', await exchange(await listen(front), get('/given')));
    front.close();
  },
  any_duplex_can_be_given_to_the_server: async (log) => {
    const { Duplex } = require('node:stream');
    const server = http.createServer((req, res) => res.end(req.url));
    let text = '';
    const duplex = new Duplex({
      read() {},
      write(part, encoding, done) {
        text += part.toString('latin1');
        done();
      },
      final(done) {
        this.push(null);
        done();
      },
    });
    server.emit('connection', duplex);
    duplex.push(get('/duplex'));
    await once(duplex, 'finish');
    log('wire', text.replace(/^Date: .*\r$/m, 'Date: <date>\r'));
  },
  socket_events_reach_listeners: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    server.on('connection', (socket) => {
      socket.on('data', () => log('server', 'data'));
      socket.on('end', () => log('server', 'end'));
      socket.on('close', () => log('server', 'close'));
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until('x');
    client.socket.end();
    await client.all();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await close(server);
  },
  a_small_write_leaves_nothing_queued: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket) => {
      log('server', socket.write(ACCEPT), socket.writableLength);
      socket.cork();
      socket.write('one');
      socket.write('');
      socket.uncork();
      log('server', socket.writableLength, socket.bufferSize);
      socket.end();
    });
    log('wire', await exchange(await listen(server), UPGRADE));
    await close(server);
  },
  a_large_write_is_queued_until_it_is_read: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket) => {
      socket.write(ACCEPT);
      const written = socket.write(Buffer.alloc(32 * 1024 * 1024), () => socket.end());
      log('server', written, socket.writableLength > 0, socket.writableNeedDrain);
      socket.on('drain', () => log('server', 'drain', socket.writableLength));
    });
    log('wire', (await exchange(await listen(server), UPGRADE)).length);
    await close(server);
  },
  an_upgrade_behind_a_request_without_an_answer: async (log) => {
    const answers = [];
    const server = http.createServer((req, res) => answers.push(res));
    server.on('upgrade', (req, socket) => {
      log('server', answers.length, req.url);
      answers[0].end('first', () => {
        log('server', 'answered');
        socket.end('raw');
      });
    });
    log('wire', await exchange(await listen(server), `GET /first HTTP/1.1\r\nHost: a\r\n\r\n${UPGRADE}`));
    await close(server);
  },
  an_upgrade_behind_a_request_that_is_never_answered: async (log) => {
    const server = http.createServer(() => log('server', 'request'));
    server.on('upgrade', (req, socket) => {
      socket.write(ACCEPT);
      socket.on('data', (chunk) => socket.write(chunk));
      socket.on('end', () => socket.end());
      socket.on('close', () => log('server', 'close'));
    });
    const client = new RawClient(await listen(server));
    client.write(`GET /first HTTP/1.1\r\nHost: a\r\n\r\n${UPGRADE}`);
    await client.until('Upgrade\r\n\r\n');
    client.write('ping');
    await client.until('ping');
    client.socket.end();
    log('wire', await client.all());
    await close(server);
  },
  a_tunnel_that_falls_silent_times_out: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 10 });
    server.on('upgrade', (req, socket) => {
      socket.write(ACCEPT);
      socket.setTimeout(300, () => {
        log('server', 'timeout');
        socket.end('late');
      });
      socket.on('data', (chunk) => log('server', chunk.toString()));
    });
    const client = new RawClient(await listen(server));
    client.write(UPGRADE);
    await client.until('Upgrade\r\n\r\n');
    client.write('ping');
    log('wire', await client.all());
    await close(server);
  },
  bytes_pushed_into_the_socket_are_parsed: async (log) => {
    const server = http.createServer((req, res) => {
      req.on('data', (chunk) => log('server', 'body', chunk.toString()));
      req.on('end', () => res.end(req.url));
    });
    server.on('connection', (socket) => {
      log('server', socket.listenerCount('data'));
      socket.push('POST /pushed HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello');
    });
    const client = new RawClient(await listen(server));
    log('wire', await client.all());
    await close(server);
  },
  bytes_pushed_into_the_socket_may_be_wrong: async (log) => {
    const server = http.createServer();
    server.on('connection', (socket) => {
      socket.on('error', (error) => log('server', error.code, error.rawPacket.toString()));
      socket.push('nonsense\r\n\r\n');
    });
    log('wire', await new RawClient(await listen(server)).all());
    await close(server);
  },
  a_data_listener_sees_a_body: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', req.socket.listenerCount('data'));
      req.socket.once('data', (chunk) => {
        log('server', chunk.toString());
        res.end('x');
      });
      req.resume();
      res.flushHeaders();
    });
    const client = new RawClient(await listen(server));
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\n');
    await client.until('\r\n\r\n');
    client.write('abc');
    log('wire', await client.all());
    await close(server);
  },
};
