'use strict';
// Heads and framing of answers, as bytes.

const http = require('node:http');
const { attempt, get, serveOnce, listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const wire = (handler, request, options) => async (log) => {
  log('wire', await serveOnce(http, (req, res) => handler(res, req, log), request, options));
};

const HEAD = 'HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n';
const OLD = 'GET / HTTP/1.0\r\n\r\n';
const OLD_KEEP_ALIVE = 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n';

module.exports = {
  an_answer_that_ends_at_once_has_a_length: wire((res) => res.end('hello')),
  an_empty_answer_has_length_zero: wire((res) => res.end()),
  a_buffer_is_sent_as_it_is: wire((res) => res.end(Buffer.from([0, 1, 255]))),
  a_typed_array_is_sent_as_it_is: wire((res) => res.end(new Uint8Array([65, 66]))),
  text_beyond_ascii_is_utf8: wire((res) => res.end('žluťoučký 🐎')),
  an_encoding_is_honoured: wire((res) => {
    res.write('é', 'latin1');
    res.write('aGk=', 'base64');
    res.end('ff00', 'hex');
  }),
  writes_are_chunks: wire((res) => {
    res.write('one');
    res.write('two');
    res.end('three');
  }),
  empty_writes_are_no_chunks: wire((res) => {
    res.write('');
    res.write('one');
    res.write(Buffer.alloc(0));
    res.end('');
  }),
  writeHead_then_end_is_chunked_or_has_a_length_as_node_decides: wire((res) => {
    res.writeHead(200, { 'Content-Type': 'text/plain' });
    res.end('hello');
  }),
  writeHead_takes_a_reason: wire((res) => res.writeHead(299, 'Very Fine', { 'X-A': 'b' }).end()),
  writeHead_takes_a_flat_array: wire((res) => res.writeHead(200, ['X-A', '1', 'X-B', '2', 'X-A', '3']).end('x')),
  writeHead_takes_pairs: wire((res, req, log) => {
    log('server', attempt(() => res.writeHead(200, [['X-A', '1'], ['X-B', ['2', '3']]]) === res));
    res.end('x');
  }),
  writeHead_merges_with_setHeader: wire((res) => {
    res.setHeader('X-A', 'set');
    res.setHeader('X-B', 'set');
    res.writeHead(200, { 'x-a': 'written', 'X-C': 'written' });
    res.end();
  }),
  header_values_may_be_lists: wire((res) => {
    res.setHeader('Set-Cookie', ['a=1', 'b=2']);
    res.setHeader('X-List', ['1', '2']);
    res.setHeader('X-Number', 7);
    res.end();
  }),
  the_last_setHeader_wins_and_keeps_the_new_case: wire((res) => {
    res.setHeader('X-Case', '1');
    res.setHeader('x-case', '2');
    res.end();
  }),
  headers_keep_their_order: wire((res) => {
    for (const name of ['Zeta', 'alpha', 'Content-Type', '9nine']) res.setHeader(name, 'v');
    res.end('x');
  }),
  removed_headers_are_gone: wire((res) => {
    res.setHeader('X-A', '1');
    res.removeHeader('x-a');
    res.removeHeader('Date');
    res.end();
  }),
  removed_connection_headers_are_gone: wire((res) => {
    res.removeHeader('Connection');
    res.removeHeader('Transfer-Encoding');
    res.removeHeader('Content-Length');
    res.write('a');
    res.end('b');
  }),
  removed_content_length_makes_it_chunked: wire((res) => {
    res.removeHeader('Content-Length');
    res.end('b');
  }),
  sendDate_false_leaves_the_date_out: wire((res) => {
    res.sendDate = false;
    res.end();
  }),
  an_own_date_is_kept: wire((res) => {
    res.setHeader('Date', 'yesterday');
    res.end();
  }),
  an_own_content_length_is_kept: wire((res) => {
    res.setHeader('Content-Length', 5);
    res.write('he');
    res.end('llo');
  }),
  an_own_transfer_encoding_is_kept: wire((res) => {
    res.setHeader('Transfer-Encoding', 'chunked');
    res.end('hello');
  }),
  transfer_encoding_identity_in_writeHead: wire((res) => {
    res.writeHead(200, { 'Transfer-Encoding': 'identity' });
    res.end('hello');
  }),
  connection_close_of_the_handler: wire((res) => {
    res.setHeader('Connection', 'close');
    res.end('x');
  }, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
  shouldKeepAlive_false_closes: wire((res) => {
    res.shouldKeepAlive = false;
    res.end('x');
  }, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
  a_204_has_no_body: wire((res) => res.writeHead(204).end('ignored')),
  a_304_has_no_body: wire((res) => {
    res.statusCode = 304;
    res.write('ignored');
    res.end('ignored');
  }),
  a_304_may_name_a_length: wire((res) => res.writeHead(304, { 'Content-Length': 5 }).end()),
  a_205_is_like_any_other: wire((res) => res.writeHead(205).end()),
  head_has_no_body: wire((res) => res.end('hello'), HEAD),
  head_with_writes_has_no_body: wire((res) => {
    res.write('hello');
    res.end('x');
  }, HEAD),
  head_with_a_length: wire((res) => {
    res.setHeader('Content-Length', 5);
    res.end();
  }, HEAD),
  an_old_client_gets_no_chunks: wire((res) => {
    res.write('one');
    res.end('two');
  }, OLD),
  an_old_client_gets_a_length: wire((res) => res.end('hello'), OLD),
  an_old_client_may_keep_the_connection: wire((res, req) => res.end(req.url), OLD_KEEP_ALIVE),
  trailers_follow_chunks: wire((res) => {
    res.writeHead(200, { Trailer: 'X-Sum' });
    res.write('data');
    res.addTrailers({ 'X-Sum': 'abc', 'X-Other': 'd' });
    res.end();
  }),
  trailers_as_a_list: wire((res) => {
    res.write('data');
    res.addTrailers([['X-One', '1'], ['X-Two', '2']]);
    res.end();
  }),
  trailers_without_chunks_are_dropped: wire((res) => {
    res.addTrailers({ 'X-Sum': 'abc' });
    res.end('data');
  }, OLD),
  trailer_header_with_a_length_is_refused: wire((res, req, log) => {
    res.setHeader('Trailer', 'X-Sum');
    log('server', attempt(() => {
      res.setHeader('Content-Length', 1);
      res.end('x');
    }));
    if (!res.writableEnded) res.socket.destroy();
  }),
  flushHeaders_sends_the_head_alone: async (log) => {
    let answer;
    const server = http.createServer((req, res) => {
      res.setHeader('X-A', '1');
      res.flushHeaders();
      log('server', 'sent', res.headersSent);
      answer = res;
    });
    const client = new RawClient(await listen(server));
    client.write(get());
    log('wire', await client.until('\r\n\r\n'));
    answer.end('late');
    log('wire', await client.all());
    await close(server);
  },
  corked_before_and_behind_the_head: wire((res) => {
    res.cork();
    res.write('a');
    res.write('b');
    res.write('c');
    res.uncork();
    res.cork();
    res.write('d');
    res.write('e');
    res.uncork();
    res.end('f');
  }),
  early_hints_and_processing_come_first: wire((res) => {
    res.writeProcessing();
    res.writeEarlyHints({ link: '</style.css>; rel=preload; as=style', 'x-trace': 'id' });
    res.writeEarlyHints({ link: ['</a.css>; rel=preload', '</b.css>; rel=preload'] });
    res.writeContinue();
    res.end('done');
  }),
  status_codes_have_reasons: async (log) => {
    for (const status of [200, 201, 202, 301, 400, 404, 413, 418, 431, 451, 500, 503, 599, 999]) {
      log('wire', (await serveOnce(http, (req, res) => res.writeHead(status).end())).split('\r\n', 1)[0]);
    }
  },
  statusMessage_is_kept: wire((res) => {
    res.statusCode = 404;
    res.statusMessage = 'Nothing Here';
    res.end();
  }),
  bad_heads_throw: wire((res, req, log) => {
    const tries = {
      status99: () => res.writeHead(99),
      status1000: () => res.writeHead(1000),
      statusText: () => res.writeHead('abc'),
      reason: () => res.writeHead(200, 'bad\r\nreason'),
      name: () => res.setHeader('bad name', 'x'),
      empty: () => res.setHeader('', 'x'),
      undefinedName: () => res.setHeader(undefined, 'x'),
      value: () => res.setHeader('X-A', 'a\r\nb'),
      wide: () => res.setHeader('X-A', 'ž'),
      undefinedValue: () => res.setHeader('X-A'),
      headValue: () => res.writeHead(200, { 'X-A': 'a\nb' }),
      trailer: () => res.addTrailers({ 'X A': '1' }),
      trailerValue: () => res.addTrailers({ 'X-A': '1\n' }),
      writeNull: () => res.write(null),
      writeNumber: () => res.write(1),
      writeNothing: () => res.write(),
      hints: () => res.writeEarlyHints('x'),
      badLink: () => res.writeEarlyHints({ link: 'nonsense' }),
    };
    for (const [name, action] of Object.entries(tries)) log('server', name, attempt(action));
    res.statusMessage = undefined; // writeHead keeps what it refused
    res.end('still here');
  }),
  after_the_head_is_sent: wire((res, req, log) => {
    res.write('x');
    const tries = {
      setHeader: () => res.setHeader('X-A', '1'),
      appendHeader: () => res.appendHeader('X-A', '1'),
      removeHeader: () => res.removeHeader('X-A'),
      writeHead: () => res.writeHead(200),
      flushHeaders: () => res.flushHeaders(),
      getHeader: () => res.getHeader('date'),
      status: () => (res.statusCode = 500),
    };
    for (const [name, action] of Object.entries(tries)) log('server', name, attempt(action));
    log('server', res.headersSent, res.statusCode, res.statusMessage);
    res.end();
  }),
  header_getters: wire((res, req, log) => {
    res.setHeader('X-One', '1').setHeader('x-TWO', ['2', '3']);
    res.appendHeader('X-One', 'again');
    log('server', res.getHeader('x-one'), res.getHeader('X-two'), res.getHeader('none') === undefined);
    log('server', res.getHeaderNames(), res.getRawHeaderNames?.(), res.hasHeader('X-ONE'), res.hasHeader('no'));
    log('server', { ...res.getHeaders() }, Object.getPrototypeOf(res.getHeaders()) === null);
    res.end();
    log('server', res.getHeaderNames(), res.getHeader('date') === undefined);
  }),
  setHeaders_takes_headers_and_maps: wire((res, req, log) => {
    res.setHeaders(new Headers({ 'X-A': '1', 'set-cookie': 'a=b' }));
    res.setHeaders(new Map([['X-B', '2']]));
    log('server', attempt(() => res.setHeaders({ 'X-C': '1' })));
    res.end();
  }),
  latin1_header_values: wire((res) => {
    res.setHeader('X-Name', 'caf\u00e9');
    res.end();
  }),
  content_disposition_is_latin1: wire((res) => {
    res.setHeader('Content-Disposition', Buffer.from('attachment; filename="é"').toString('latin1'));
    res.end();
  }),
  // Only what the program is told: what a half-made answer leaves on the wire is no promise.
  strict_content_length: async (log) => {
    await serveOnce(http, (req, res) => {
      res.strictContentLength = true;
      res.setHeader('Content-Length', 3);
      log('server', attempt(() => res.write('four')));
      log('server', attempt(() => res.end('abc') === res));
      res.socket.destroy();
    });
  },
  strict_content_length_in_every_way_to_write: async (log) => {
    const steps = {
      set: (res) => res.setHeader('Content-Length', 3), head: (res) => res.writeHead(200, { 'Content-Length': 3 }), flush: (res) => res.flushHeaders(),
      two: (res) => res.write('ab'), five: (res) => res.write('abcde'), end: (res) => res.end(), endThree: (res) => res.end('abc'),
      endOne: (res) => res.end('c'), endFive: (res) => res.end('abcde'), endBytes: (res) => res.end(Buffer.from('abcd')), calledBack: (res) => res.end('abcde', () => log('server', 'called back')),
    };
    const ways = ['set endFive', 'set endThree', 'set endBytes', 'set end', 'set calledBack', 'head endFive', 'head endThree', 'head end', 'endFive', 'end',
      'set two endOne', 'set two endThree', 'set two end', 'set five end', 'set five endFive', 'set flush endFive', 'set flush end', 'set endFive end', 'set endFive endThree'];
    for (const way of ways) {
      await serveOnce(http, (req, res) => {
        res.strictContentLength = true;
        for (const step of way.split(' ')) log('server', way, step, attempt(() => typeof steps[step](res)), res.headersSent, res.writableEnded);
        res.socket.destroy();
      });
    }
  },
  too_long_a_strict_answer_sends_nothing: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      res.strictContentLength = true;
      res.setHeader('Content-Length', 3);
      log('server', attempt(() => res.end('HELLO')));
      res.destroy();
    }));
  },
  a_statusMessage_of_another_type: async (log) => {
    const values = [404, 0, null, true, ['a'], [], new Error('x'), { toString: () => 'of its own' }, { toString: () => 'a\nb' }, Symbol('x'), '', 5n];
    for (const value of values) {
      log('wire', await serveOnce(http, (req, res) => {
        res.statusMessage = value;
        log('server', attempt(() => typeof res.end('x')), typeof res.statusMessage);
        if (!res.writableEnded) res.destroy();
      }));
    }
    for (const value of [5, true, 0, '']) log('wire', await serveOnce(http, (req, res) => res.writeHead(200, value).end('x')));
  },
  keep_alive_header_names_the_timeout: wire((res, req) => {
    if (req.url === '/2') res.setHeader('Connection', 'close');
    res.end();
  }, 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n', { keepAliveTimeout: 7000 }),
  no_keep_alive_header_without_a_timeout: wire((res, req) => {
    if (req.url === '/2') res.setHeader('Connection', 'close');
    res.end();
  }, 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n', { keepAliveTimeout: 0 }),
  unique_headers_are_joined: wire((res) => {
    res.setHeader('X-Joined', ['1', '2']);
    res.writeHead(200);
    res.end();
  }, get(), { uniqueHeaders: ['x-joined'] }),
  several_writeHead_calls: wire((res, req, log) => {
    res.writeHead(200);
    log('server', attempt(() => res.writeHead(201)));
    res.end();
  }),
  properties_of_an_answer: wire((res, req, log) => {
    const names = ['statusCode', 'statusMessage', 'headersSent', 'finished', 'writable', 'writableEnded',
      'writableFinished', 'writableHighWaterMark', 'writableObjectMode', 'writableNeedDrain', 'destroyed', 'closed', 'errored', 'sendDate', 'shouldKeepAlive', 'chunkedEncoding',
      'useChunkedEncodingByDefault', 'strictContentLength', 'maxRequestsOnConnectionReached'];
    const view = () => Object.fromEntries(names.map((name) => [name, res[name]]));
    log('server', 'before', view());
    res.write('some');
    log('server', 'during', view());
    res.end();
    log('server', 'after', view());
    res.on('finish', () => log('server', 'finish', view()));
    res.on('close', () => log('server', 'close', view(), res.socket === null));
  }),
  a_head_of_three_hundred_kilobytes: async (log) => {
    const text = await serveOnce(http, (req, res) => res.setHeader('X-Big', 'a'.repeat(300 * 1024)).end('body'));
    log('wire', text.replace(/a{1000,}/, (big) => `(${big.length} times a)`));
  },
  a_large_head_with_a_large_body: async (log) => {
    const text = await serveOnce(http, (req, res) => {
      res.writeHead(200, ['X-Big', 'a'.repeat(300 * 1024), 'Content-Length', '100000']);
      res.end('b'.repeat(100_000));
    });
    log('wire', text.replace(/a{1000,}|b{1000,}/g, (big) => `(${big.length} times ${big[0]})`));
  },
  large_heads_one_after_the_other: async (log) => {
    const server = http.createServer((req, res) => res.setHeader('X-Big', 'a'.repeat(200 * 1024)).end(req.url));
    const client = new RawClient(await listen(server));
    client.write(`GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n${get('/3')}`);
    log('wire', (await client.all()).replace(/a{1000,}/g, (big) => `(${big.length} times a)`));
    await close(server);
  },
  what_is_written_in_the_tick_of_destroy_is_lost: wire((res) => {
    res.write('hello');
    res.destroy();
  }),
  what_was_written_a_tick_before_destroy_is_sent: wire((res) => {
    res.write('hello');
    setImmediate(() => res.destroy());
  }),
};
