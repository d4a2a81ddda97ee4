'use strict';
// Answers, requests and sockets that end otherwise than by an ordinary end(): given up, cut off, thrown over.

const http = require('node:http');
const { once } = require('node:events');
const { listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const GET = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const POST = (bytes, sent = bytes) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(sent)}`;

/** Logs the events of both sides. */
function watch(log, req, res) {
  for (const event of ['aborted', 'end', 'close']) req.on(event, () => log('req', event, req.complete));
  req.on('error', (error) => log('req', error));
  for (const event of ['finish', 'close']) res.on(event, () => log('res', event, res.writableFinished));
  res.on('error', (error) => log('res', error));
}

/** A handler that throws, in a process that goes on; what becomes of the connection. */
async function throwing(log, request, handler, { more } = {}) {
  const caught = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => caught.push(error.message));
  const server = http.createServer(handler);
  const client = new RawClient(await listen(server));
  client.write(request);
  await waitFor(() => caught.length > 0, 1000);
  if (more !== undefined) {
    await pause(20);
    client.write(more);
  }
  await waitFor(() => client.ended || client.error !== null, 700);
  log('server', ...caught);
  log('wire', client.ended || client.error !== null ? 'over' : 'open');
  client.destroy();
  await close(server);
  process.removeAllListeners('uncaughtException');
  for (const listener of others) process.on('uncaughtException', listener);
}

module.exports = {
  a_response_that_ended_a_while_ago: async (log) => {
    const show = (when, res) => log(when, res.writableFinished, res.destroyed, res.closed, res.writableEnded);
    for (const delay of [0, 20]) {
      const server = http.createServer((req, res) => setTimeout(() => {
        res.end('x');
        show('at once', res);
        setTimeout(() => {
          show('later', res);
          res.end((error) => log('callback', error ?? 'none'));
        }, 30);
      }, delay));
      const client = new RawClient(await listen(server)).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await client.until('x');
      await new Promise((resolve) => setTimeout(resolve, 80));
      client.destroy();
      await close(server);
    }
  },
  a_queued_answer_that_is_destroyed_ends_the_connection_in_its_turn: async (log) => {
    for (const begun of [false, true]) {
      const server = http.createServer((req, res) => {
        if (req.url === '/slow') return void setTimeout(() => res.end('slow'), 40);
        res.on('close', () => log('res', 'close'));
        res.on('finish', () => log('res', 'finish'));
        if (begun) res.write('begun');
        setTimeout(() => {
          res.destroy();
          log('res', res.destroyed, res.writableEnded);
        }, 1);
      });
      // Newer versions of Node leave the connection waiting.
      const newer = !/'socket'/.test(String(http.OutgoingMessage.prototype.destroy));
      const client = new RawClient(await listen(server));
      client.write(GET('/slow') + GET('/destroyed'));
      const text = await client.until('slow');
      if (!newer) await client.all();
      log('wire', text.endsWith('slow') || newer, client.ended || newer);
      client.destroy();
      await close(server);
    }
  },
  socket_end_behind_a_part_of_the_answer_with_the_body_outstanding: async (log) => {
    let closed = false;
    const server = http.createServer((req, res) => {
      watch(log, req, res);
      res.on('close', () => (closed = true));
      res.write('part');
      res.socket.end();
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(POST(10, 5));
    await waitFor(() => client.ended);
    client.write('xxxxx');
    // Not with the end behind it, which would be read at once with it or not.
    await pause(300);
    log('wire', client.ended);
    client.socket.end();
    await client.closed;
    await waitFor(() => closed);
    await close(server);
  },
  socket_end_behind_a_part_of_the_answer_with_the_body_read: async (log) => {
    let [closed, read] = [false, false];
    const server = http.createServer((req, res) => {
      watch(log, req, res);
      res.on('close', () => (closed = true));
      req.on('end', () => (read = true)).resume();
      res.write('part');
      res.socket.end();
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(POST(10, 5));
    await waitFor(() => client.ended);
    client.write('xxxxx');
    await waitFor(() => read);
    log('wire', client.ended);
    client.socket.end();
    await client.closed;
    await waitFor(() => closed);
    await close(server);
  },
  socket_end_with_a_body_complete: async (log) => {
    const server = http.createServer((req, res) => {
      watch(log, req, res);
      res.write('part');
      setTimeout(() => res.socket.end(), 5);
    });
    const client = new RawClient(await listen(server));
    client.write(POST(10));
    log('wire', /4\r\npart\r\n$/.test(await client.all()), client.ended);
    await close(server);
  },
  nothing_is_answered_after_socket_end: async (log) => {
    const server = http.createServer((req, res) => {
      const { socket } = res;
      log('server', req.url);
      res.end('ended');
      socket.end();
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(GET('/first'));
    await client.until('ended');
    // With threads the engine may read on until it hears of the end; then our FIN is out.
    await waitFor(() => client.ended);
    client.write(GET('/second'));
    await client.until('never', 200);
    log('wire', client.text().split('HTTP/1.1 200').length - 1, client.ended);
    client.destroy();
    await close(server);
  },
  a_handler_that_throws: (log) => throwing(log, GET('/'), () => { throw new Error('thrown'); }),
  a_handler_that_throws_and_another_request: (log) => throwing(log, GET('/'), () => { throw new Error('thrown'); }, { more: GET('/') }),
  a_handler_that_throws_with_a_body_to_come: (log) => throwing(log, POST(10, 0), () => { throw new Error('thrown'); }, { more: 'xxxxxxxxxx' }),
  a_handler_that_throws_with_its_body_and_another_request: (log) => throwing(log, POST(10), () => { throw new Error('thrown'); }, { more: GET('/') }),
  a_handler_that_throws_in_a_tick: (log) => throwing(log, GET('/'), () => process.nextTick(() => { throw new Error('thrown'); }), { more: GET('/') }),
  a_handler_that_throws_after_its_answer: (log) => throwing(log, GET('/'), (req, res) => {
    res.end('answered');
    throw new Error('thrown');
  }, { more: GET('/') }),
  a_handler_that_throws_later: (log) => throwing(log, GET('/'), () => setImmediate(() => { throw new Error('thrown'); })),
  a_handler_that_throws_while_data_comes: (log) => throwing(log, POST(10), (req) => req.on('data', () => { throw new Error('thrown'); })),
  a_handler_that_throws_while_later_data_comes: (log) => throwing(log, POST(10, 0), (req) => {
    req.on('data', () => { throw new Error('thrown'); });
    setTimeout(() => process.emit('uncaughtException', new Error('marker')), 5);
  }, { more: 'xxxxxxxxxx' }),
  many_fields: async (log) => {
    for (const count of [999, 1000, 1001, 1500]) {
      const server = http.createServer((req, res) => {
        log('server', count, Object.keys(req.headers).length, req.rawHeaders.length, Object.keys(req.headersDistinct).length);
        res.end('x');
      });
      const client = new RawClient(await listen(server));
      client.write(`GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: count - 1 }, (_, index) => `h${index}: 1\r\n`).join('')}\r\n`);
      await client.until(/\r\n\r\n/);
      log('wire', client.text().split('\r\n')[0]);
      client.destroy();
      await close(server);
    }
  },
  many_fields_with_a_limit: async (log) => {
    for (const limit of [0, 10, 20, 2000]) {
      for (const count of [5, 10, 11, 33, 40, 1200]) {
        const server = http.createServer((req, res) => {
          log('server', limit, count, Object.keys(req.headers).length, req.rawHeaders.length, Object.keys(req.headersDistinct).length);
          res.end('x');
        });
        server.maxHeadersCount = limit;
        const client = new RawClient(await listen(server));
        client.write(`GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: count - 1 }, (_, index) => `h${index}: 1\r\n`).join('')}\r\n`);
        await client.until(/\r\n\r\n/);
        log('wire', client.text().split('\r\n')[0]);
        client.destroy();
        await close(server);
      }
    }
  },
  writableLength_of_a_corked_answer: async (log) => {
    for (const prepare of [() => {}, (res) => res.setHeader('Content-Length', 6), (res) => res.writeHead(200)]) {
      const server = http.createServer((req, res) => {
        prepare(res);
        const note = (what) => log('res', what, res.writableLength, res.writableNeedDrain);
        res.cork();
        note('corked');
        res.write('abc');
        note('written');
        log('res', res.writableCorked);
        res.uncork();
        note('uncorked');
        res.write('def');
        note('open');
        res.end();
        note('ended');
        log('res', res.writableCorked);
      });
      const client = new RawClient(await listen(server));
      client.write(GET('/').replace('Host', 'Connection: close\r\nHost'));
      await client.all();
      await close(server);
    }
  },
  a_flushed_head_and_close: async (log) => {
    for (const method of ['HEAD', 'GET']) {
      const server = http.createServer((req, res) => {
        watch(log, req, res);
        res.flushHeaders();
        setTimeout(() => res.end(), 5);
      });
      const client = new RawClient(await listen(server));
      client.write(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      await client.all();
      log('wire', method, client.text().length > 0);
      await pause(10);
      await close(server);
    }
  },
  a_flushed_head_and_close_at_once: async (log) => {
    for (const method of ['HEAD', 'GET', 'POST']) {
      for (const write of [false, true]) {
        const server = http.createServer((req, res) => {
          watch(log, req, res);
          req.resume();
          res.flushHeaders();
          if (write) res.write('part');
          res.end(() => log('res', 'callback'));
        });
        const client = new RawClient(await listen(server));
        client.write(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${method === 'POST' ? 'Content-Length: 3\r\n\r\nabc' : '\r\n'}`);
        await client.all();
        log('wire', method, client.text().length > 0);
        await pause(10);
        await close(server);
      }
    }
  },
  an_answer_after_the_end_of_its_socket: async (log) => {
    for (const [write, allowHalfOpen] of [[false, false], [true, false], [false, true], [true, true]]) {
      let answered = false;
      const server = http.createServer((req, res) => {
        watch(log, req, res);
        req.resume();
        const { socket } = res;
        socket.on('close', () => log('socket', 'close'));
        socket.end();
        const answer = () => {
          if (write) log('res', res.write('part'));
          res.end('late', () => log('res', 'callback'));
          log('res', res.writableEnded, res.writableFinished, res.headersSent);
          answered = true;
        };
        // A client that ends its side as well closes the socket.
        if (allowHalfOpen) setTimeout(answer, 10);
        else socket.once('close', () => setImmediate(answer));
      });
      const client = new RawClient(await listen(server), { allowHalfOpen });
      client.write(GET('/'));
      await waitFor(() => answered && client.ended);
      await pause(40);
      log('wire', client.text(), client.ended);
      client.destroy();
      await pause(10);
      await close(server);
    }
  },
  a_timeout_handler_on_a_connection_that_closes: async (log) => {
    const server = http.createServer((req, res) => {
      watch(log, req, res);
      res.setTimeout(20, (socket) => {
        log('server', 'timeout');
        res.writeHead(503);
        res.end('late');
        socket.end();
      });
    });
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await client.all();
    log('wire', client.text().endsWith('late'), client.ended);
    await pause(20);
    await close(server);
  },
  a_timeout_handler_that_answers_on_a_connection_that_closes: async (log) => {
    const server = http.createServer((req, res) => {
      watch(log, req, res);
      res.setTimeout(20, () => {
        log('server', 'timeout');
        res.end('late');
      });
    });
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await client.all();
    log('wire', client.text().includes('late'), client.ended);
    await pause(20);
    await close(server);
  },
  an_upgrade_that_is_not_wanted_is_an_ordinary_request: (log) => unwantedUpgrade(log, [GET('/next')], [true]),
  an_upgrade_that_is_not_wanted_and_what_follows_it: (log) => unwantedUpgrade(log, ['garbage\r\n\r\n', '\0\0\0\0', GET('/next')], [false]),
  an_upgrade_that_is_not_wanted_and_garbage_later: (log) => unwantedUpgrade(log, ['garbage\r\n\r\n', '\0\0\0\0'], [true]),
};

/** A POST with an `Upgrade` to a server that has no listener for it, and what comes behind it, with it or later. */
async function unwantedUpgrade(log, followers, splits) {
  const server = http.createServer((req, res) => {
    log('server', req.method, req.url, req.upgrade);
    let bytes = 0;
    req.on('data', (chunk) => { bytes += chunk.length; });
    req.on('end', () => res.end(`done ${bytes}`));
  });
  server.on('clientError', (error, socket) => {
    log('server', error.code);
    socket.destroy();
  });
  const port = await listen(server);
  for (const follower of followers) {
    for (const split of splits) {
      const client = new RawClient(port);
      const request = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 3\r\n\r\nabc';
      client.write(split ? request : request + follower);
      if (split) {
        await client.until('done');
        client.write(follower);
      }
      await client.until('never', 100);
      log('wire', JSON.stringify(follower), split, client.text().split('done').length - 1, client.ended || client.error !== null);
      client.destroy();
    }
  }
  await close(server);
}
