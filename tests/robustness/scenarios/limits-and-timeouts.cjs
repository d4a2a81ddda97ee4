'use strict';
// Slow clients, silent handlers and every limit, with short values.

const http = require('node:http');
const { once } = require('node:events');
const { exchange, get, post, listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const QUICK = { connectionsCheckingInterval: 20 };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What the client got, and whether the wait was about as long as promised. */
async function timed(log, client, fromMs, toMs) {
  const started = performance.now();
  log('wire', await client.all());
  const took = performance.now() - started;
  log('time', took >= fromMs && took <= toMs ? 'in time' : `after ${Math.round(took)} ms`);
}

module.exports = {
  defaults: async (log) => {
    const server = http.createServer();
    const names = ['timeout', 'headersTimeout', 'requestTimeout', 'keepAliveTimeout', 'maxHeadersCount', 'maxRequestsPerSocket',
      'maxConnections', 'keepAliveTimeoutBuffer'];
    log('server', Object.fromEntries(names.map((name) => [name, server[name] === undefined ? 'undefined' : server[name]])));
    log('server', http.maxHeaderSize);
  },
  headersTimeout_ends_a_slow_head: async (log) => {
    const server = http.createServer({ ...QUICK, headersTimeout: 100, requestTimeout: 0 }, () => {});
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: ');
    await timed(log, client, 80, 1500);
    await close(server);
  },
  headersTimeout_is_a_clientError: async (log) => {
    const server = http.createServer({ ...QUICK, headersTimeout: 100, requestTimeout: 0 }, () => {});
    server.on('clientError', (error, socket) => {
      log('server', error.code);
      socket.destroy();
    });
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: ');
    await timed(log, client, 80, 1500);
    await close(server);
  },
  requestTimeout_ends_a_slow_body: async (log) => {
    const server = http.createServer({ ...QUICK, headersTimeout: 100, requestTimeout: 150 }, (req) => {
      req.on('error', (error) => log('server', 'req', error));
      req.on('close', () => log('server', 'req close', req.complete));
      req.resume();
    });
    const client = new RawClient(await listen(server));
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
    await timed(log, client, 100, 1500);
    await close(server);
  },
  a_client_that_sends_nothing_is_ended: async (log) => {
    const server = http.createServer({ ...QUICK, headersTimeout: 100, requestTimeout: 100 }, () => {});
    const client = new RawClient(await listen(server));
    await timed(log, client, 80, 1500);
    await close(server);
  },
  one_byte_at_a_time_is_served: async (log) => {
    const server = http.createServer((req, res) => req.pipe(res));
    const client = new RawClient(await listen(server));
    for (const byte of post('hello', 'X-A: b')) {
      client.write(byte);
      await pause(1);
    }
    log('wire', await client.all());
    await close(server);
  },
  keepAliveTimeout_ends_an_idle_connection: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 100 }, (req, res) => res.end('x'));
    if ('keepAliveTimeoutBuffer' in server) server.keepAliveTimeoutBuffer = 0;
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await timed(log, client, 80, 2500);
    await close(server);
  },
  a_busy_connection_outlives_keepAliveTimeout: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 60 }, (req, res) => setTimeout(() => res.end('x'), 250));
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  server_timeout_destroys_a_silent_connection: async (log) => {
    const server = http.createServer(() => log('server', 'request'));
    server.setTimeout(100);
    log('server', server.timeout);
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await timed(log, client, 80, 1500);
    await close(server);
  },
  server_timeout_event_decides: async (log) => {
    const server = http.createServer((req) => (req.answered = false));
    server.setTimeout(80, (socket) => {
      log('server', 'timeout', socket.destroyed);
      socket.end('HTTP/1.1 503 Slow\r\nConnection: close\r\n\r\n');
    });
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await timed(log, client, 60, 1500);
    await close(server);
  },
  req_setTimeout_calls_back: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', req.setTimeout(50, () => {
        log('server', 'req timeout');
        res.end('gave up');
      }) === req);
    });
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  res_setTimeout_calls_back: async (log) => {
    const server = http.createServer((req, res) => {
      res.setTimeout(50, (socket) => {
        log('server', 'res timeout', socket === res.socket);
        res.end('gave up');
      });
    });
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  socket_setTimeout_is_an_event: async (log) => {
    const server = http.createServer((req, res) => {
      req.socket.setTimeout(50);
      req.socket.on('timeout', () => {
        log('server', 'socket timeout', req.socket.timeout);
        res.end('gave up');
      });
    });
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  maxRequestsPerSocket_closes_the_connection: async (log) => {
    const server = http.createServer({ keepAliveTimeout: 100 }, (req, res) => res.end(req.url));
    server.maxRequestsPerSocket = 2;
    server.on('dropRequest', (req, socket) => log('server', 'dropRequest', req.url, socket.destroyed));
    const requests = [1, 2, 3].map((number) => `GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`).join('');
    log('wire', await exchange(await listen(server), requests));
    await close(server);
  },
  maxConnections_drops: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    server.maxConnections = 1;
    const told = once(server, 'drop');
    server.on('drop', (data) => log('server', 'drop', data?.localAddress, data?.remoteFamily, typeof data?.remotePort));
    const port = await listen(server);
    const first = new RawClient(port);
    first.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await first.until('x');
    const second = new RawClient(port);
    second.write(get());
    log('wire', await second.all());
    await told;
    first.destroy();
    await close(server);
  },
  a_handler_that_never_answers_holds_no_other: async (log) => {
    const server = http.createServer((req, res) => req.url === '/never' || res.end('x'));
    const port = await listen(server);
    const stuck = new RawClient(port);
    stuck.write(get('/never'));
    for (let i = 0; i < 20; i += 1) await exchange(port, get());
    log('wire', await exchange(port, get()), stuck.received === '', stuck.ended);
    stuck.destroy();
    await close(server);
  },
  option_values_are_checked: async (log) => {
    const tries = {
      requestTimeout: { requestTimeout: -1 },
      headersTimeout: { headersTimeout: 'x' },
      order: { requestTimeout: 100, headersTimeout: 200 },
      keepAliveTimeout: { keepAliveTimeout: -5 },
      interval: { connectionsCheckingInterval: -1 },
      maxHeaderSize: { maxHeaderSize: 'x' },
      insecure: { insecureHTTPParser: 1 },
      host: { requireHostHeader: 1 },
      join: { joinDuplicateHeaders: 1 },
      unique: { uniqueHeaders: 1 },
      listener: 'not an object',
    };
    for (const [name, options] of Object.entries(tries)) {
      try {
        http.createServer(options);
        log('server', name, 'accepted');
      } catch (error) {
        log('server', name, error);
      }
    }
  },
};
