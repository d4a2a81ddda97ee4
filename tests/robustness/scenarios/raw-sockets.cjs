'use strict';
// Servers whose connections a program handles itself, and sockets below TLS.

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');
const { once } = require('node:events');
const { attempt, exchange, get, listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');
const { key, cert } = require('../lib/certificate.cjs');

const TLS = { key, cert };

/** A TLS client that sends a request and resolves with what it gets until the server ends. */
async function secureExchange(port, request = get()) {
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString('latin1'))).on('error', () => {});
  socket.write(request);
  await once(socket, 'close').catch(() => {});
  return text.replace(/^Date: .*\r$/m, 'Date: <date>\r');
}

module.exports = {
  connection_listener_replaced_before_listen: async (log) => {
    const server = http.createServer(() => log('server', 'request'));
    server.removeAllListeners('connection');
    server.on('connection', (socket) => {
      log('server', 'connection', socket.constructor === net.Socket, socket.parser === undefined || socket.parser === null);
      socket.once('data', (bytes) => socket.end(`raw ${bytes}`));
    });
    log('wire', await exchange(await listen(server), 'hello'));
    await new Promise((resolve) => server.close(resolve));
  },
  connection_listener_replaced_after_listen: async (log) => {
    const server = http.createServer((req, res) => res.end(`request ${req.url}`));
    server.listen(0, '127.0.0.1');
    server.removeAllListeners('connection');
    server.on('connection', (socket) => socket.once('data', (bytes) => socket.end(`raw ${bytes}`)));
    await once(server, 'listening');
    log('wire', await exchange(server.address().port, 'hello'));
    await new Promise((resolve) => server.close(resolve));
    log('server', server.listening);
  },
  connection_listener_replaced_while_in_use: async (log) => {
    const server = http.createServer((req, res) => res.end(`request ${req.url}`));
    const port = await listen(server);
    const kept = new RawClient(port);
    kept.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await kept.until('request /1');
    const [own] = server.listeners('connection');
    server.removeListener('connection', own);
    server.on('connection', (socket) => socket.once('data', (bytes) => socket.end(`raw ${bytes}`)));
    log('wire', await exchange(port, 'hello'));
    kept.write(get('/2'));
    log('wire', (await kept.all()).replace(/^Date: .*\r$/gm, 'Date: <date>\r'));
    await close(server);
  },
  the_own_listener_called_by_the_program: async (log) => {
    const server = http.createServer((req, res) => res.end(`request ${req.url} ${req.socket.tag}`));
    const [own] = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', function proxied(socket) {
      // As for the PROXY protocol: a line of its own comes first.
      socket.once('readable', () => {
        const bytes = socket.read();
        const end = bytes.indexOf('\r\n') + 2;
        socket.tag = bytes.subarray(0, end - 2).toString();
        socket.unshift(bytes.subarray(end));
        own.call(this, socket);
      });
    });
    log('wire', await exchange(await listen(server), `PROXY me\r\n${get('/behind')}`));
    await close(server);
  },
  listeners_put_back_change_nothing: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const all = server.listeners('connection');
    server.removeAllListeners('connection');
    for (const listener of all) server.on('connection', listener);
    server.on('connection', () => log('server', 'connection'));
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  secureConnection_listener_replaced: async (log) => {
    const server = https.createServer(TLS, () => log('server', 'request'));
    server.removeAllListeners('secureConnection');
    server.on('secureConnection', (socket) => {
      log('server', socket instanceof tls.TLSSocket);
      socket.once('data', (bytes) => socket.end(`raw ${bytes}`));
    });
    log('wire', await secureExchange(await listen(server), 'hello'));
    await new Promise((resolve) => server.close(resolve));
  },
  connection_listener_of_https_replaced: async (log) => {
    const server = https.createServer(TLS, () => log('server', 'request'));
    server.removeAllListeners('connection');
    server.on('connection', (socket) => socket.once('data', (bytes) => socket.end(`raw ${bytes}`)));
    log('wire', await exchange(await listen(server), 'hello'));
    await new Promise((resolve) => server.close(resolve));
  },
  a_port_that_speaks_http_and_https: async (log) => {
    // An https server that hands clients without TLS to the listener of http's servers.
    class Either extends https.Server {
      constructor(options, listener) {
        super(options, listener);
        const [speakTls] = this.listeners('connection');
        this.removeAllListeners('connection');
        this.on('connection', (socket) => {
          socket.once('readable', () => {
            const bytes = socket.read();
            socket.unshift(bytes);
            if (bytes[0] === 22) speakTls.call(this, socket);
            else http._connectionListener.call(this, socket);
          });
        });
      }
    }
    const server = new Either(TLS, (req, res) => res.end(`${req.socket.encrypted === true} ${req.url}`));
    const port = await listen(server);
    log('wire', await exchange(port, get('/plain')));
    log('wire', await secureExchange(port, get('/tls')));
    await new Promise((resolve) => server.close(resolve));
  },
  two_sockets_of_a_tls_connection: async (log) => {
    const server = https.createServer(TLS, (req, res) => {
      log('server', 'request', req.socket === seen.secureConnection, req.socket === seen.connection);
      res.end('x');
    });
    const seen = {};
    let closed = 0;
    for (const event of ['connection', 'secureConnection']) {
      server.on(event, (socket) => {
        seen[event] = socket;
        log('server', event, socket instanceof tls.TLSSocket, socket.constructor.name, socket.encrypted === true, socket.server === server, typeof socket.remotePort,
          socket.remoteAddress, socket.localPort === server.address().port, socket.destroyed, socket.readyState);
        socket.on('close', () => {
          closed++;
          log(event, 'close', socket.destroyed);
        });
      });
    }
    log('wire', await secureExchange(await listen(server)));
    log('server', await waitFor(() => closed === 2), seen.connection === seen.secureConnection);
    await close(server);
  },
  the_socket_below_tls_destroyed: async (log) => {
    for (const when of ['at once', 'when secure', 'in a request', 'when answered']) {
      let below;
      const server = https.createServer(TLS, (req, res) => {
        // Whether a request came with the end of the handshake is the client's matter.
        if (when !== 'when secure') res.on('close', () => log(`res ${when}`, 'close'));
        if (when === 'in a request') below.destroy();
        else res.end('x', () => when === 'when answered' && setImmediate(() => below.destroy()));
      });
      server.on('connection', (socket) => {
        below = socket;
        log(`below ${when}`, attempt(() => socket.setNoDelay(true) === socket), attempt(() => socket.setKeepAlive(true) === socket), attempt(() => socket.ref() === socket));
        socket.on('close', () => log(`below ${when}`, 'close'));
        if (when === 'at once') socket.destroy();
      });
      server.on('secureConnection', (socket) => {
        socket.on('close', () => log(`above ${when}`, 'close'));
        if (when === 'when secure') below.destroy();
      });
      const port = await listen(server);
      const text = await secureExchange(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      log('wire', when, text.endsWith('x'));
      await new Promise((resolve) => server.close(resolve));
    }
  },
  tls_connections_close_both: async (log) => {
    const server = https.createServer(TLS, (req, res) => res.end('x'));
    let open = 0;
    for (const event of ['connection', 'secureConnection']) {
      server.on(event, (socket) => {
        open++;
        socket.once('close', () => open--);
      });
    }
    const port = await listen(server);
    log('wire', await secureExchange(port));
    await waitFor(() => open === 0);
    log('server', open);
    const silent = net.connect(port, '127.0.0.1');
    await waitFor(() => open === 1);
    silent.destroy();
    await waitFor(() => open === 0);
    log('server', open);
    await close(server);
  },
};
