'use strict';
// Bodies that are read slowly, in part or not at all: what becomes of the answer, and of the connection's next request.

const { execFileSync } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const tls = require('node:tls');
const { Readable, Writable, pipeline } = require('node:stream');
const { listen, close, RawClient } = require('../lib/scenario-tools.cjs');

/** Below and above what a socket is read by, and what a stream keeps. */
const SIZES = [100, 20_000, 60_000, 70_000, 200_000];
const NEXT = 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n';
/** An answer that has not come after so long does not come, on however busy a machine. */
const LATE_MS = 8_000;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const sized = (bytes) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`;
const chunked = (bytes) => 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
  + `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n0\r\nX-Sum: 1\r\n\r\n`;

/** A Writable that takes its time with each chunk. */
const slowly = () => new Writable({ highWaterMark: 1000, write: (chunk, encoding, done) => setTimeout(done, 2) });

/**
 * For each size, framing and kind of arrival, each on a connection of its own: a POST to `handler`, and then a GET. Both
 * answers must come; `handler` ends its answer with `done`.
 */
async function exchangeBoth(log, handler, { sizes = SIZES, pipelined = false } = {}) {
  const server = http.createServer((req, res) => (req.method === 'GET' ? res.end('next') : handler(req, res)));
  const port = await listen(server);
  const rows = sizes.flatMap((bytes) => [sized, chunked].flatMap((frame) => [false, true].map((split) => ({ bytes, frame, split }))));
  const outcomes = await Promise.all(rows.map(async ({ bytes, frame, split }) => {
    const client = new RawClient(port);
    const request = frame(bytes);
    const head = split ? request.indexOf('\r\n\r\n') + 4 : request.length;
    client.write(request.slice(0, head));
    if (split) await pause(5);
    client.write(request.slice(head) + (pipelined ? NEXT : ''));
    await client.until('done', LATE_MS);
    if (!pipelined) client.write(NEXT);
    const text = await client.until(/next$/, LATE_MS);
    client.destroy();
    return [bytes, frame.name, split, text.includes('done'), text.endsWith('next')];
  }));
  for (const outcome of outcomes) log('wire', ...outcome);
  await close(server);
}

/** How a handler may read a body to its end, taking its time. */
const readers = {
  iterator: async (req) => {
    for await (const chunk of req) await pause(chunk.length > 0 ? 2 : 0);
  },
  iterator_of_text: async (req) => {
    req.setEncoding('utf8');
    for await (const text of req) await pause(text.length > 0 ? 2 : 0);
  },
  pipeline: (req) => new Promise((resolve) => pipeline(req, slowly(), resolve)),
  pause_and_resume_at_each_part: (req) => new Promise((resolve) => {
    req.on('data', () => {
      req.pause();
      setTimeout(() => req.resume(), 1);
    });
    req.on('end', resolve);
  }),
  readable_events: (req) => new Promise((resolve) => {
    req.on('readable', () => setTimeout(() => {
      while (req.read(5000) !== null || req.read() !== null);
    }, 1));
    req.on('end', resolve);
  }),
  web_stream: async (req) => {
    for await (const chunk of Readable.toWeb(req)) await pause(chunk.length > 0 ? 2 : 0);
  },
  begun_late: async (req) => {
    await pause(20);
    for await (const chunk of req) await pause(chunk.length > 0 ? 1 : 0);
  },
  given_up_and_taken_up: async (req) => {
    const first = slowly();
    req.pipe(first);
    await pause(3);
    req.unpipe(first);
    await pause(3);
    for await (const chunk of req) await pause(chunk.length > 0 ? 1 : 0);
  },
};

/** How a handler may leave a body that has come, or begun to come, and answer. */
const leavers = {
  unread: () => {},
  unread_with_listeners: (req) => req.on('error', () => {}).on('end', () => {}).on('close', () => {}),
  unread_with_an_encoding: (req) => req.setEncoding('utf8'),
  unread_with_the_socket_touched: (req) => void req.socket.remoteAddress,
  resumed: (req) => req.resume(),
};

/** These leave part of the body unread: on node:http the next request is answered if all of it has come. */
const halfReaders = {
  paused_at_the_first_part: (req) => req.once('data', () => req.pause()),
  some_bytes_read: (req) => req.once('readable', () => req.read(10)),
  unpiped: (req) => {
    const sink = slowly();
    req.pipe(sink);
    setTimeout(() => req.unpipe(sink), 5);
  },
  iterator_left: async (req) => {
    for await (const chunk of req) if (chunk.length > 0) break;
  },
};

/** A key and a certificate that no client trusts. */
function makeIdentity() {
  const folder = mkdtempSync(join(tmpdir(), 'portico-identity-'));
  const [key, cert] = ['key', 'crt'].map((kind) => join(folder, kind));
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', '/CN=a',
    '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const identity = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return identity;
}

/** Sends requests, ends the client's side behind them and returns the length of what comes, and how it ends. */
async function endBehind(socket, requests, restMs = 0) {
  const parts = [];
  socket.on('data', (part) => {
    parts.push(part);
    if (restMs === 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), restMs);
  });
  socket.on('error', (error) => parts.push(Buffer.from(error.code)));
  socket.end(requests);
  await once(socket, 'end');
  socket.destroy();
  const text = Buffer.concat(parts).toString('latin1');
  return [text.split('x').length - 1, text.endsWith('0\r\n\r\n')];
}

/** For sizes and framings, and without TLS two requests at a time: the client ends its side at once behind what it sends. */
async function halfClose(log, handler, { sizes = [1, 10_000, 60_000, 200_000, 1_000_000], secure, restMs } = {}) {
  const server = secure === undefined ? http.createServer(handler) : https.createServer(secure, handler);
  const port = await listen(server);
  for (const bytes of sizes) {
    const pipelined = secure === undefined ? [sized(10) + chunked(bytes)] : [];
    for (const requests of [sized(bytes), chunked(bytes), ...pipelined]) {
      const options = { port, host: '127.0.0.1', allowHalfOpen: true, rejectUnauthorized: false };
      const socket = secure === undefined ? net.connect(options) : tls.connect(options);
      await once(socket, secure === undefined ? 'connect' : 'secureConnect');
      log('wire', bytes, requests.length, ...await endBehind(socket, requests, restMs));
    }
  }
  await close(server);
}

const scenarios = {};
for (const [name, read] of Object.entries(readers)) {
  const handler = async (req, res) => {
    await read(req);
    res.end('done');
  };
  scenarios[`read_slowly_by_${name}`] = (log) => exchangeBoth(log, handler);
  scenarios[`read_slowly_by_${name}_with_the_next_behind_it`] = (log) => exchangeBoth(log, handler, { pipelined: true });
  scenarios[`read_slowly_by_${name}_behind_the_answer`] = (log) => exchangeBoth(log, (req, res) => {
    read(req);
    res.end('done');
  });
}
for (const [name, leave] of Object.entries(leavers)) {
  for (const [when, later] of Object.entries({ at_once: (answer) => answer(), in_a_tick: process.nextTick, later: (answer) => setTimeout(answer, 15) })) {
    scenarios[`${name}_and_answered_${when}`] = (log) => exchangeBoth(log, (req, res) => {
      leave(req);
      later(() => {
        res.statusCode = 401;
        res.end('done');
      });
    });
  }
}
for (const [name, leave] of Object.entries(halfReaders)) {
  const sizes = SIZES.filter((bytes) => bytes <= 60_000);
  scenarios[`${name}_and_answered`] = (log) => exchangeBoth(log, (req, res) => {
    leave(req);
    setTimeout(() => res.end('done'), 30);
  }, { sizes });
}

/** How a program may go on reading what is left of a body behind its answer; each gives the number of bytes. */
const readersOn = {
  a_slow_pipe: async (req) => {
    let bytes = 0;
    const target = new Writable({
      write(chunk, encoding, done) {
        bytes += chunk.length;
        setTimeout(done, 5);
      },
    });
    await once(req.pipe(target), 'finish');
    return bytes;
  },
  a_slow_iterator: async (req) => {
    let bytes = 0;
    for await (const chunk of req) {
      bytes += chunk.length;
      await pause(5);
    }
    return bytes;
  },
  a_web_stream: async (req) => {
    let bytes = 0;
    for await (const chunk of Readable.toWeb(req)) {
      bytes += chunk.length;
      await pause(5);
    }
    return bytes;
  },
  a_listener_that_rests_once: async (req) => {
    let bytes = 0;
    req.once('data', () => {
      req.pause();
      setTimeout(() => req.resume(), 60);
    });
    req.on('data', (chunk) => (bytes += chunk.length));
    await once(req, 'end');
    return bytes;
  },
};
for (const [name, read] of Object.entries(readersOn)) {
  scenarios[`all_of_it_goes_to_${name}_behind_the_answer`] = async (log) => {
    for (const bytes of [20_000, 300_000, 1_000_000]) {
      const server = http.createServer((req, res) => {
        server.emit('read', read(req));
        setImmediate(() => res.end('done'));
      });
      const client = new RawClient(await listen(server));
      client.write(sized(bytes));
      const [reading] = await once(server, 'read');
      log('server', bytes, await reading);
      client.destroy();
      await close(server);
    }
  };
}

module.exports = {
  ...scenarios,
  a_paused_socket_is_read_again_for_a_body_that_is_wanted: async (log) => {
    const server = http.createServer(async (req, res) => {
      req.socket.pause();
      await pause(20);
      let bytes = 0;
      for await (const chunk of req) bytes += chunk.length;
      res.end(`done ${bytes}`);
    });
    const client = new RawClient(await listen(server));
    client.write(sized(100_000));
    log('wire', /done 100000$/.test(await client.until('done')));
    client.destroy();
    await close(server);
  },
  a_socket_that_stays_paused_is_not_read: async (log) => {
    const server = http.createServer();
    server.on('request', (req, res) => {
      log('server', req.url);
      res.end(`done ${req.url}`);
      if (req.url !== '/first') return;
      setTimeout(() => {
        req.socket.pause();
        log('server', 'paused', req.socket.isPaused());
        setTimeout(() => {
          log('server', 'resumed');
          req.socket.resume();
        }, 60);
      }, 5);
    });
    const client = new RawClient(await listen(server));
    client.write('GET /first HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until('done /first');
    await pause(20);
    client.write('GET /second HTTP/1.1\r\nHost: a\r\n\r\n');
    log('wire', /done \/second$/.test(await client.until('done /second')));
    client.destroy();
    await close(server);
  },
  a_body_that_waits_for_100_continue: async (log) => {
    for (const late of [false, true]) {
      const server = http.createServer();
      server.on('checkContinue', async (req, res) => {
        if (late) await pause(10);
        res.writeContinue();
        for await (const chunk of req) await pause(chunk.length > 0 ? 1 : 0);
        res.end('done');
      });
      server.on('request', (req, res) => res.end('next'));
      const client = new RawClient(await listen(server));
      client.write('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n');
      await client.until('100 Continue\r\n\r\n');
      client.write('x'.repeat(70_000));
      await client.until('done');
      client.write(NEXT);
      log('wire', late, /next$/.test(await client.until(/next$/)));
      client.destroy();
      await close(server);
    }
  },
  an_empty_write_in_an_answer_that_waits_leaves_nothing_waiting: async (log) => {
    const server = http.createServer((req, res) => {
      if (req.method === 'POST') return void req.resume().on('end', () => res.end('posted'));
      if (req.url === '/slow') return void setTimeout(() => res.end('slow'), 20);
      res.on('finish', () => log('finish', req.url)).writeHead(200);
      res.write('x');
      setImmediate(() => {
        res.write(Buffer.alloc(0), () => log('written', req.url));
        setImmediate(() => res.end('done'));
      });
    });
    const client = new RawClient(await listen(server));
    client.write(NEXT.replace('next', 'slow') + NEXT + sized(70_000) + NEXT);
    const text = await client.until(/posted[^]*done/, 3000);
    log('wire', text.split('HTTP/1.1 200').length - 1);
    client.destroy();
    await close(server);
  },
  a_paused_body_is_not_read_beyond_what_is_kept: async (log) => {
    const server = http.createServer((req) => {
      req.once('data', () => req.pause());
    });
    const client = new RawClient(await listen(server));
    client.write(sized(0).replace('Content-Length: 0', 'Content-Length: 50000000'));
    const sent = new Promise((resolve) => client.socket.write(Buffer.alloc(50_000_000), resolve));
    log('wire', await Promise.race([sent.then(() => 'all of it was read'), pause(300).then(() => 'it waits')]));
    client.destroy();
    await close(server);
  },
  optimized_requests_without_a_body_leave_nothing_paused: async (log) => {
    const server = http.createServer({ optimizeEmptyRequests: true }, async (req, res) => {
      for await (const chunk of req) await pause(chunk.length > 0 ? 1 : 0);
      res.end(req.method === 'POST' ? 'done' : 'next');
    });
    const client = new RawClient(await listen(server));
    for (const request of [NEXT, sized(70_000), NEXT]) {
      client.received = '';
      client.write(request);
      log('wire', /(done|next)$/.test(await client.until(/(done|next)$/)));
    }
    client.destroy();
    await close(server);
  },
  the_end_behind_a_body_that_is_echoed: (log) => halfClose(log, (req, res) => req.pipe(res)),
  the_end_behind_a_body_that_is_echoed_to_a_slow_reader: (log) => halfClose(log, (req, res) => req.pipe(res), { sizes: [1_000_000], restMs: 2 }),
  // Of more than one record, and of the second of two, node:https loses a part.
  the_end_behind_a_body_that_is_echoed_over_tls: (log) => halfClose(log, (req, res) => req.pipe(res), { sizes: [1, 10_000], secure: makeIdentity() }),
  the_end_behind_a_body_that_is_read_by_an_iterator: (log) => halfClose(log, async (req, res) => {
    for await (const chunk of req) if (!res.write(chunk)) await once(res, 'drain');
    res.end();
  }),
  the_end_behind_a_body_that_is_paused_at_each_part: (log) => halfClose(log, (req, res) => {
    req.on('data', (chunk) => {
      res.write(chunk);
      req.pause();
      setImmediate(() => req.resume());
    });
    req.on('end', () => res.end());
  }, { sizes: [1, 10_000] }),
  the_end_behind_a_body_that_is_not_read: (log) => halfClose(log, (req, res) => setImmediate(() => {
    res.write('x');
    res.end();
  })),
  the_end_behind_requests_whose_answers_wait_in_bulk: async (log) => {
    const server = http.createServer((req, res) => {
      if (req.method === 'GET') return void setTimeout(() => res.end('first'), 30);
      req.resume();
      res.end('y'.repeat(1_000_000));
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(NEXT + sized(10) + NEXT);
    client.socket.end();
    await client.until('never', 1000);
    log('wire', client.received.includes('first'), client.received.split('y').length - 1 >= 1_000_000, client.ended);
    client.destroy();
    await close(server);
  },
  the_end_of_a_client_that_waits_for_its_answer: async (log) => {
    const server = http.createServer((req, res) => {
      req.on('aborted', () => log('server', 'aborted'));
      res.on('close', () => log('server', 'close', res.writableFinished));
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    client.socket.end();
    log('wire', await client.until('never'), client.ended);
    client.destroy();
    await close(server);
  },
};
