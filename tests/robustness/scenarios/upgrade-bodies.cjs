'use strict';
// Upgrades of requests that have a body: whose its bytes are, when 'upgrade' comes, and with what.

const http = require('node:http');
const net = require('node:net');
const { close, get, listen, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const ACCEPT = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n';
const LENGTH = 'Content-Length: 5';
const CHUNKED = 'Transfer-Encoding: chunked';

function head(...fields) {
  return ['POST /chat HTTP/1.1', 'Host: a', 'Connection: Upgrade', 'Upgrade: echo', ...fields, '', ''].join('\r\n');
}

/** Logs what an upgrade gets, a word for each event; bytes are counted, for how they fall into parts is not at issue. */
function watch(log, request, socket, first) {
  const state = { body: '', bytes: String(first) };
  log('upgrade', request.upgrade, request.complete, socket === request.socket, socket instanceof net.Socket, socket.allowHalfOpen, first.length < 20 ? String(first) : 'much');
  request.on('data', (part) => { state.body += part; });
  request.on('end', () => log('request', 'end', state.body.length, state.body.slice(0, 20), request.trailers));
  request.on('close', () => log('request', 'close', request.aborted));
  socket.on('data', (part) => { state.bytes += part; });
  socket.on('end', () => {
    log('tunnel', 'end', state.bytes);
    socket.end('bye');
  });
  socket.on('finish', () => log('tunnel', 'finish'));
  socket.on('close', () => log('tunnel', 'close'));
  socket.write(ACCEPT);
  return state;
}

/** A client that sends each part once 'upgrade' has come, and a moment later; then it ends its side. */
function scenario(parts, { onUpgrade = watch } = {}) {
  return async (log) => {
    const server = http.createServer((request, response) => response.end('not upgraded'));
    server.on('upgrade', (...args) => onUpgrade(log, ...args));
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    for (const [index, part] of parts.entries()) {
      client.write(part);
      if (index === 0) await client.until('\r\n\r\n', 2000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    client.socket.end();
    log('wire', await client.all());
    await close(server);
  };
}

module.exports = {
  a_body_with_the_head: scenario([`${head(LENGTH)}hello`]),
  a_body_with_the_head_and_more: scenario([`${head(LENGTH)}helloearly`, 'later']),
  a_chunked_body_with_the_head_and_more: scenario([`${head(CHUNKED)}5\r\nhello\r\n0\r\nX-Own: 1\r\n\r\nearly`]),
  a_body_behind_the_head: scenario([head(LENGTH), 'hello']),
  a_body_behind_the_head_and_more: scenario([head(LENGTH), 'hel', 'loearly', 'later']),
  a_body_that_has_begun_with_the_head: scenario([`${head(LENGTH)}hel`, 'loearly', 'later']),
  a_chunked_body_behind_the_head: scenario([`${head(CHUNKED)}5\r\nhel`, 'lo\r\n', '0\r\nX-Own: 1\r\n\r\nearly', 'later']),
  an_empty_body: scenario([`${head('Content-Length: 0')}early`]),
  an_empty_chunked_body: scenario([`${head(CHUNKED)}0\r\n\r\nearly`]),
  a_body_that_waits_to_be_asked_for: scenario([head(LENGTH, 'Expect: 100-continue'), 'hello']),
  a_large_body_with_the_head: scenario([`${head('Content-Length: 300000')}${'x'.repeat(300_000)}`, 'later']),
  a_large_body_behind_the_head: scenario([head('Content-Length: 300000'), 'x'.repeat(300_000), 'later']),
  connect_has_no_body: async (log) => {
    const server = http.createServer();
    server.on('connect', (...args) => watch(log, ...args));
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(`CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n${LENGTH}\r\n\r\nhelloearly`);
    await client.until('\r\n\r\n');
    client.socket.end();
    log('wire', await client.all());
    await close(server);
  },
  a_body_that_is_not_read: scenario([head('Content-Length: 300000'), `${'x'.repeat(300_000)}`, 'later'], {
    onUpgrade: (log, request, socket) => {
      let last;
      socket.on('data', (part) => { last = String(part).slice(-5); });
      socket.on('end', () => {
        log('tunnel', 'end', last);
        socket.end();
      });
      request.on('end', () => log('request', 'end'));
      socket.write(ACCEPT);
    },
  }),
  a_tunnel_that_is_not_read_before_its_body: scenario([head(LENGTH), 'helloearly'], {
    onUpgrade: (log, request, socket) => {
      socket.write(ACCEPT);
      request.resume().on('end', () => {
        log('request', 'end');
        setTimeout(() => {
          socket.on('data', (part) => log('tunnel', String(part)));
          socket.on('end', () => socket.end('bye'));
        }, 30);
      });
    },
  }),
  // Node 26 asks again, behind the body, whether there is a listener.
  a_listener_that_is_called_once: async (log) => {
    const server = http.createServer();
    server.once('upgrade', (...args) => watch(log, ...args));
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(head(LENGTH));
    await client.until('\r\n\r\n', 2000);
    client.write('hello');
    await new Promise((resolve) => setTimeout(resolve, 30));
    client.write('later');
    client.socket.end();
    log('wire', await client.all());
    await close(server);
  },
  refused_before_its_body_has_come: scenario([head(LENGTH)], {
    onUpgrade: (log, request, socket) => {
      socket.on('close', () => log('tunnel', 'close'));
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n', () => log('tunnel', 'written'));
    },
  }),
  destroyed_before_its_body_has_come: scenario([head(LENGTH)], {
    onUpgrade: (log, request, socket) => {
      socket.on('close', () => log('tunnel', 'close', request.socket.destroyed));
      socket.destroy();
    },
  }),
  cut_short_before_its_body_has_come: scenario([head(LENGTH), 'he'], {
    onUpgrade: (log, request, socket) => {
      request.on('end', () => log('request', 'end')).resume();
      socket.on('end', () => {
        log('tunnel', 'end');
        setTimeout(() => socket.destroy(), 20);
      });
      socket.on('close', () => log('tunnel', 'close', socket.errored)).resume();
      socket.write(ACCEPT);
    },
  }),
  // Without a listener of 'error', which must cost nobody the process.
  a_body_that_is_none: scenario([head(CHUNKED), 'zz\r\n', 'hello'], {
    onUpgrade: (log, request, socket) => {
      socket.on('close', () => log('tunnel', 'close', socket.errored));
      socket.on('end', () => setTimeout(() => socket.destroy(), 20)).resume();
      socket.write(ACCEPT);
    },
  }),
  request_destroyed_before_its_body_has_come: scenario([head(LENGTH)], {
    onUpgrade: (log, request, socket) => {
      socket.write(ACCEPT);
      request.on('close', () => log('request', 'close', request.aborted));
      setTimeout(() => request.destroy(), 10);
    },
  }),
  much_from_the_server_before_the_body_has_come: async (log) => {
    const server = http.createServer();
    server.on('upgrade', (request, socket) => {
      socket.write(ACCEPT);
      socket.end('y'.repeat(1_000_000), () => log('tunnel', 'written'));
      request.resume();
      socket.resume();
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(head(LENGTH));
    await waitFor(() => client.ended);
    client.write('hello');
    client.socket.end();
    log('wire', (await client.all()).length);
    await close(server);
  },
  behind_an_unanswered_request: async (log) => {
    const answers = [];
    const server = http.createServer((request, response) => answers.push(response));
    server.on('upgrade', (request, socket) => {
      request.resume().on('end', () => answers[0].end('first', () => socket.end('raw')));
      socket.resume();
    });
    const client = new RawClient(await listen(server));
    client.write(`GET /first HTTP/1.1\r\nHost: a\r\n\r\n${head(LENGTH)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.write('hello');
    log('wire', await client.all());
    await close(server);
  },
  the_callback_has_the_last_word: async (log) => {
    const shouldUpgradeCallback = (request) => request.url === '/chat';
    const server = http.createServer({ shouldUpgradeCallback }, (request, response) => {
      request.resume().on('end', () => response.end(`${request.upgrade}`));
    });
    const port = await listen(server);
    const refused = new RawClient(port);
    refused.write(`${head(LENGTH).replace('/chat', '/other').replace('\r\n\r\n', '\r\nX-Own: 1\r\n\r\n')}hello`);
    await refused.until(/true$|false$/);
    log('wire', refused.text().replace(/^[^]*\r\n\r\n/, ''));
    refused.destroy();
    log('wire', await new RawClient(port).write(get('/chat')).all());
    await close(server);
  },
};
