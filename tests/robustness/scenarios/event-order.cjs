'use strict';
// The order of events, ticks and microtasks on the server side of one request.

const http = require('node:http');
const net = require('node:net');
const { exchange, get, post, listen, close, RawClient, waitFor, serveOnce } = require('../lib/scenario-tools.cjs');

const REQUEST_EVENTS = ['pause', 'resume', 'data', 'end', 'aborted', 'error', 'close'];
const RESPONSE_EVENTS = ['socket', 'prefinish', 'finish', 'drain', 'pipe', 'unpipe', 'error', 'close'];

function watch(log, prefix, emitter, names) {
  for (const name of names) {
    emitter.on(name, (value) => log('server', `${prefix} ${name}`, value instanceof Error ? value : ''));
  }
}

const scenario = (handler, request, { events } = {}) => async (log) => {
  const server = http.createServer((req, res) => {
    log('server', 'request');
    if (events !== false) {
      watch(log, 'req', req, REQUEST_EVENTS.filter((name) => name !== 'data'));
      watch(log, 'res', res, RESPONSE_EVENTS);
    }
    handler(req, res, log);
  });
  const port = await listen(server);
  await exchange(port, request);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await close(server);
};

/** The answer comes before the body, whose parts come one by one; then another request, or the client's end. */
async function unwanted(log, framing, ...parts) {
  const requests = [];
  const server = http.createServer((req, res) => {
    watch(log, req.url, req, REQUEST_EVENTS);
    res.on('close', () => log('server', 'res close', req.url));
    requests.push(req);
    res.end('answer');
  });
  server.on('clientError', (error, socket) => {
    log('server', 'clientError', error.code);
    socket.destroy();
  });
  const client = new RawClient(await listen(server));
  client.write(`POST /1 HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
  await client.until('answer');
  for (const part of parts) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (part === null) client.socket.end();
    else client.write(part);
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  if (!client.socket.writableEnded) client.write(get('/2'));
  log('wire', await client.all());
  const [{ complete, trailers, readableEnded, destroyed, aborted, _dumped }] = requests;
  log('server', { complete, trailers, readableEnded, destroyed, aborted, _dumped });
  await close(server);
}

module.exports = {
  callbacks_of_empty_writes: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      res.on('finish', () => log('server', 'finish'));
      res.write('', () => log('server', 'first'));
      res.write('a', () => log('server', 'a'));
      setImmediate(() => {
        res.write('', () => log('server', 'empty'));
        setImmediate(() => {
          res.write(Buffer.alloc(0), () => log('server', 'empty again'));
          res.write('b', () => log('server', 'b'));
          setImmediate(() => res.end('', () => log('server', 'end')));
        });
      });
    }));
  },
  get_answered_at_once: scenario((req, res) => res.end('x'), get()),
  get_answered_and_read: scenario((req, res) => {
    req.resume();
    res.end('x');
  }, get()),
  get_answered_later: scenario((req, res) => setTimeout(() => res.end('x'), 10), get()),
  post_read_then_answered: scenario((req, res) => {
    req.resume();
    req.on('end', () => res.end('x'));
  }, post('hello')),
  post_answered_without_reading: scenario((req, res) => res.end('x'), post('hello')),
  post_answered_before_it_is_read: scenario((req, res) => {
    res.end('x');
    req.on('data', () => {});
  }, post('hello')),
  piped_back: scenario((req, res) => req.pipe(res), post('hello')),
  destroyed_request: scenario((req) => req.destroy(), get()),
  destroyed_request_with_error: scenario((req) => req.destroy(new Error('mine')), post('hello')),
  destroyed_response: scenario((req, res) => res.destroy(), get()),
  destroyed_response_with_error: scenario((req, res) => res.destroy(new Error('mine')), get()),
  destroyed_response_after_a_write: scenario((req, res) => {
    res.write('x');
    setTimeout(() => res.destroy(), 20);
  }, get()),
  destroyed_socket: scenario((req) => req.socket.destroy(), get()),
  ticks_and_microtasks_in_a_handler: scenario((req, res, log) => {
    setImmediate(() => log('late', 'immediate'));
    process.nextTick(() => log('server', 'tick'));
    Promise.resolve().then(() => log('server', 'microtask'));
    queueMicrotask(() => {
      log('server', 'microtask 2');
      process.nextTick(() => log('server', 'tick of microtask'));
    });
    res.on('finish', () => log('server', 'finish'));
    res.on('close', () => log('server', 'res close'));
    req.on('close', () => log('server', 'req close'));
    res.end('x', () => log('server', 'end callback'));
    log('server', 'handler returns');
  }, get(), { events: false }),
  ticks_run_between_pipelined_requests: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', req.url);
      process.nextTick(() => log('server', `${req.url} tick`));
      Promise.resolve().then(() => log('server', `${req.url} microtask`));
      res.end(req.url);
    });
    await exchange(await listen(server), `GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n${get('/3')}`);
    await close(server);
  },
  write_callbacks_come_in_order: scenario((req, res, log) => {
    res.write('a', () => log('server', 'a written'));
    res.write('b', () => log('server', 'b written'));
    res.end('c', () => log('server', 'ended'));
  }, get()),
  a_write_beyond_the_high_water_mark_returns_false_and_drains: async (log) => {
    const server = http.createServer((req, res) => {
      const part = Buffer.alloc(1 << 20, 'x');
      let writes = 0;
      let full = false;
      while (writes < 64 && !full) {
        full = !res.write(part);
        writes += 1;
      }
      log('server', 'full', full, 'need drain', res.writableNeedDrain);
      res.on('drain', () => {
        log('server', 'drain', res.writableLength);
        res.end('last');
      });
    });
    const client = new RawClient(await listen(server));
    client.socket.pause();
    client.write(get());
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.socket.resume();
    const text = await client.all();
    log('wire', text.slice(-11));
    await close(server);
  },
  writes_after_end: scenario((req, res, log) => {
    res.end('x');
    res.write('late', (error) => log('server', 'write callback', error ?? 'no error'));
  }, get()),
  a_second_end: scenario((req, res, log) => {
    res.end('x');
    res.end((error) => log('server', 'second end', error ?? 'no error'));
    res.end('more', (error) => log('server', 'third end', error ?? 'no error'));
    res.on('finish', () => res.end((error) => log('server', 'fourth end', error ?? 'no error')));
  }, get()),
  writes_after_destroy: scenario((req, res, log) => {
    res.destroy();
    log('server', res.write('x', (error) => log('server', 'write', error ?? 'no error')));
    res.end('y', (error) => log('server', 'end', error ?? 'no error'));
  }, get()),
  cork_and_uncork: scenario((req, res, log) => {
    res.cork();
    log('server', 'corked', res.writableCorked);
    res.write('a');
    res.write('b');
    process.nextTick(() => {
      res.uncork();
      log('server', 'uncorked', res.writableCorked);
      res.end('c');
    });
  }, get()),
  server_events_of_one_connection: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', 'handler');
      res.end('x');
    });
    for (const name of ['listening', 'connection', 'request', 'close', 'clientError']) {
      server.on(name, (first) => log('server', name, first instanceof net.Socket ? 'socket' : first instanceof http.IncomingMessage ? 'req' : ''));
    }
    server.on('connection', (socket) => {
      for (const name of ['end', 'finish', 'close', 'error']) socket.on(name, () => log('server', `socket ${name}`));
    });
    await exchange(await listen(server), get());
    await new Promise((resolve) => setTimeout(resolve, 20));
    await close(server);
  },
  the_client_leaves_before_the_answer: async (log) => {
    const server = http.createServer((req, res) => {
      watch(log, 'req', req, REQUEST_EVENTS);
      watch(log, 'res', res, RESPONSE_EVENTS);
      req.on('close', () => log('server', 'aborted', req.aborted, 'destroyed', req.destroyed, 'complete', req.complete));
      res.on('close', () => {
        log('server', 'finished', res.writableFinished, 'destroyed', res.destroyed);
        res.end('too late', (error) => log('late', 'end', error ?? 'no error'));
      });
      client.destroy();
    });
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.all();
    await new Promise((resolve) => setTimeout(resolve, 30));
    await close(server);
  },
  the_client_leaves_in_the_middle_of_its_body: async (log) => {
    const server = http.createServer((req, res) => {
      watch(log, 'req', req, REQUEST_EVENTS.filter((name) => name !== 'data'));
      watch(log, 'res', res, RESPONSE_EVENTS);
      req.on('data', () => client.destroy());
      req.on('close', () => log('server', req.complete, req.errored));
    });
    const client = new RawClient(await listen(server));
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\npart');
    await client.all();
    await new Promise((resolve) => setTimeout(resolve, 30));
    await close(server);
  },
  the_client_leaves_in_the_middle_of_the_answer: async (log) => {
    const server = http.createServer((req, res) => {
      watch(log, 'req', req, REQUEST_EVENTS.filter((name) => name !== 'data'));
      watch(log, 'res', res, RESPONSE_EVENTS.filter((name) => name !== 'drain'));
      res.write('part');
      res.on('close', () => clearInterval(timer));
      const timer = setInterval(() => res.write('more'), 5);
    });
    const client = new RawClient(await listen(server));
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until('part');
    client.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await close(server);
  },
  the_client_half_closes_before_its_answer: async (log) => {
    let late;
    const server = http.createServer((req, res) => {
      watch(log, 'res', res, RESPONSE_EVENTS);
      late = () => res.end('answer');
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    client.socket.end();
    await waitFor(() => late);
    log('wire', await client.all());
    await new Promise((resolve) => setTimeout(resolve, 20));
    late();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await close(server);
  },
  a_body_that_is_not_wanted_comes_in_parts: (log) => unwanted(log, 'Content-Length: 9', 'one', 'two', 'end'),
  a_chunked_body_that_is_not_wanted_comes_in_parts: (log) => unwanted(log, 'Transfer-Encoding: chunked',
    '3\r\none\r\n', '3\r\ntwo\r\n', '0\r\nName: value\r\n\r\n'),
  a_body_that_is_not_wanted_is_malformed: (log) => unwanted(log, 'Transfer-Encoding: chunked', '3\r\none\r\n', 'x', ''),
  a_body_that_is_not_wanted_is_cut_off: (log) => unwanted(log, 'Content-Length: 9', 'one', 'two', null),
  pipelined_answers_wait_for_the_first: async (log) => {
    const answers = [];
    const server = http.createServer((req, res) => {
      log('server', req.url, res.socket === null ? 'no socket' : 'socket');
      answers.push(res);
      res.on('finish', () => log('server', 'finish', req.url));
      res.on('close', () => log('server', 'close', req.url));
    });
    const client = new RawClient(await listen(server));
    client.write(`GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n${get('/3')}`);
    await waitFor(() => answers.length === 3);
    answers[2].end('third');
    answers[1].write('second ');
    answers[1].end('answer');
    await new Promise((resolve) => setTimeout(resolve, 20));
    log('wire', client.text());
    answers[0].end('first');
    log('wire', await client.all());
    await close(server);
  },
  hundreds_of_requests_wait_for_their_answers: async (log) => {
    const answers = [];
    const server = http.createServer((req, res) => answers.push([req.url, res]));
    const client = new RawClient(await listen(server));
    for (let number = 1; number < 300; number++) client.write(`GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`);
    client.write(get('/300'));
    await waitFor(() => answers.length === 300);
    log('server', answers.length);
    for (const [url, res] of answers.reverse()) res.end(`answer to ${url}`);
    log('wire', (await client.all()).match(/answer to \S+?(?=HTTP|$)/g).join(' '));
    await close(server);
  },
  a_response_that_waits_for_its_turn_counts_what_is_queued: async (log) => {
    const answers = [];
    const server = http.createServer((req, res) => answers.push(res));
    const client = new RawClient(await listen(server));
    client.write(`GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n${get('/3')}`);
    await waitFor(() => answers.length === 3);
    const [first, second, third] = answers;
    third.end('third');
    log('server', third.writableLength > 100, third.outputSize === third.writableLength);
    second.on('finish', () => log('server', 'finish', second.writableLength));
    second.end('second');
    log('server', second.writableLength > 100);
    first.end('first');
    log('server', first.writableLength, first.outputSize);
    await client.all();
    log('server', second.writableLength, third.writableLength);
    await close(server);
  },
  an_empty_write_counts_as_sent: async (log) => {
    const server = http.createServer(async (req, res) => {
      res.on('finish', () => log('server', 'finish'));
      res.write('one ', () => log('server', 'written'));
      await new Promise((resolve) => setTimeout(resolve, 10));
      res.write('', () => log('server', 'nothing written'));
      await new Promise((resolve) => setTimeout(resolve, 10));
      res.write('two ', () => log('server', 'written'));
      res.end('three', () => log('server', 'ended'));
    });
    const client = new RawClient(await listen(server));
    client.write(get());
    log('wire', await client.all());
    await close(server);
  },
  an_empty_write_in_an_answer_that_waits_lets_the_next_one_drain: async (log) => {
    const answers = [];
    const server = http.createServer((req, res) => {
      if (req.method === 'POST') return void req.pipe(res);
      answers.push(res);
      if (answers.length < 2) return;
      res.write('second');
      res.write(Buffer.alloc(0));
      res.end(' answer');
      setImmediate(() => answers[0].end('first'));
    });
    const client = new RawClient(await listen(server));
    client.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    client.write(post('x'.repeat(200_000)));
    const text = await client.all();
    log('wire', text.match(/first|second| answer/g), text.match(/x/g).length);
    await close(server);
  },
};
