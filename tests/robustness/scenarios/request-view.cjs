'use strict';
// What a handler sees of a request, and how bodies arrive.

const http = require('node:http');
const { Readable } = require('node:stream');
const { buffer } = require('node:stream/consumers');
const { exchange, get, post, serveOnce, listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const view = (request, pick, options) => async (log) => {
  const handler = async (req, res) => {
    const body = await buffer(req); // where it is cut into parts is not promised
    log('server', pick(req), body.toString('latin1'));
    res.end();
  };
  const text = await serveOnce(http, handler, request, options);
  log('wire', text.split('\r\n', 1)[0]);
};

const lines = (...all) => [...all, 'Connection: close', '', ''].join('\r\n');
const chunked = (...rest) => ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked', 'Connection: close', '', ...rest].join('\r\n');

module.exports = {
  request_line: view(get('/path?q=1&r=%20#no'), (r) => [r.method, r.url, r.httpVersion, r.httpVersionMajor, r.httpVersionMinor]),
  http_1_0: view('GET / HTTP/1.0\r\n\r\n', (r) => [r.httpVersion, r.headers]),
  absolute_target: view(get('http://other.test:81/x?y'), (r) => [r.url, r.headers.host]),
  asterisk_target: view(lines('OPTIONS * HTTP/1.1', 'Host: a'), (r) => [r.method, r.url]),
  bytes_beyond_ascii_in_the_target: view(get('/\u00e9\u00ff'), (r) => [r.url]),
  headers_are_lower_case: view(get('/', 'X-UPPER: Value', 'x-lower:  spaced\t '), (r) => [r.headers, r.rawHeaders]),
  headers_have_no_prototype: view(get(), (r) => [Object.getPrototypeOf(r.headers) === null, Object.getPrototypeOf(r.headersDistinct) === null]),
  hostile_header_names: view(get('/', '__proto__: x', 'constructor: y', 'toString: z'), (r) => [Object.entries(r.headers)]),
  repeated_headers_are_joined_or_dropped: view(
    get('/', 'Accept: a', 'Accept: b', 'Cookie: a=1', 'Cookie: b=2', 'X-A: 1', 'X-A: 2', 'User-Agent: one', 'User-Agent: two',
      'Set-Cookie: s1', 'Set-Cookie: s2', 'Referer: r1', 'Referer: r2', 'Content-Type: a', 'Content-Type: b', 'ETag: 1', 'ETag: 2',
      'Authorization: A', 'Authorization: B', 'Max-Forwards: 1', 'Max-Forwards: 2', 'Expires: 1', 'Expires: 2', 'Age: 1', 'Age: 2'),
    (r) => [r.headers, r.headersDistinct, r.rawHeaders],
  ),
  joinDuplicateHeaders: view(get('/', 'Authorization: A', 'Authorization: B', 'Cookie: a', 'Cookie: b'), (r) => [r.headers], { joinDuplicateHeaders: true }),
  empty_header_values: view(get('/', 'X-Empty:', 'X-Space:   '), (r) => [r.headers['x-empty'], r.headers['x-space']]),
  latin1_header_values: view(get('/', 'X-Name: caf\u00e9'), (r) => [r.headers['x-name']]),
  many_headers: view(get('/', ...Array.from({ length: 200 }, (_, i) => `X-${i}: ${i}`)), (r) => [r.rawHeaders.length, r.headers['x-199']]),
  maxHeadersCount_cuts: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', req.rawHeaders.length, Object.keys(req.headers).length);
      res.end();
    });
    server.maxHeadersCount = 5;
    const port = await listen(server);
    log('wire', await exchange(port, get('/', ...Array.from({ length: 20 }, (_, i) => `X-${i}: ${i}`)).replace('Connection: close\r\n', '').replace('GET / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\nConnection: close\r\n')));
    await close(server);
  },
  every_method_is_known: async (log) => {
    for (const method of http.METHODS.filter((name) => name !== 'CONNECT')) {
      const text = await serveOnce(http, (req, res) => res.end(req.method), lines(`${method} / HTTP/1.1`, 'Host: a', 'Content-Length: 0'));
      log('wire', method, text.split('\r\n', 1)[0]);
    }
  },
  the_host_header_may_be_optional: view(lines('GET / HTTP/1.1'), (r) => [r.headers], { requireHostHeader: false }),
  a_missing_host_is_refused: async (log) => log('wire', await serveOnce(http, (req, res) => res.end(), lines('GET / HTTP/1.1'))),
  a_body_of_known_length: view(post('hello'), (r) => [r.complete, r.headers['content-length']]),
  a_chunked_body: view(chunked('5', 'hello', '3', 'abc', '0', '', ''), (r) => [r.complete, r.trailers]),
  trailers_of_a_request: view(chunked('5', 'hello', '0', 'X-Sum: 1', 'x-sum: 2', 'X-Other: 3', '', ''), (r) => [r.trailers, r.rawTrailers, r.trailersDistinct]),
  chunk_extensions_are_ignored: view(chunked('5;a=b', 'hello', '0;x', '', ''), (r) => [r.complete]),
  upper_case_chunk_sizes: view(chunked('A', '0123456789', '00', '', ''), (r) => [r.complete]),
  setEncoding_decodes_across_packets: async (log) => {
    const server = http.createServer((req, res) => {
      req.setEncoding('utf8');
      let text = '';
      req.on('data', (part) => {
        log('types', typeof part);
        text += part;
      });
      req.on('end', () => res.end(text));
    });
    const client = new RawClient(await listen(server));
    client.write(post('xx').replace('xx', '').replace('Content-Length: 2', 'Content-Length: 4'));
    await new Promise((resolve) => setTimeout(resolve, 30));
    client.write('\xc3');
    await new Promise((resolve) => setTimeout(resolve, 30));
    client.write('\xa9xy');
    log('wire', await client.all());
    await close(server);
  },
  an_unread_body_is_skipped_for_the_next_request: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', req.method, req.url);
      res.end(req.url);
    });
    const body = 'x'.repeat(100_000);
    log('wire', await exchange(await listen(server), `POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}${get('/2')}`));
    await close(server);
  },
  a_body_can_be_read_by_consumers: async (log) => {
    const server = http.createServer(async (req, res) => res.end(String((await buffer(req)).length)));
    log('wire', await exchange(await listen(server), post('z'.repeat(200_000))));
    await close(server);
  },
  a_body_can_be_piped_back: async (log) => {
    const server = http.createServer((req, res) => req.pipe(res));
    const text = await exchange(await listen(server), post('z'.repeat(300_000)));
    log('wire', text.slice(0, text.indexOf('\r\n\r\n')), (text.match(/z/g) ?? []).length);
    await close(server);
  },
  a_body_can_be_paused: async (log) => {
    const server = http.createServer((req, res) => {
      let length = 0;
      req.pause();
      log('server', req.isPaused(), req.readableFlowing);
      setTimeout(() => req.resume(), 50);
      req.on('data', (part) => (length += part.length));
      req.on('end', () => res.end(`${length}`));
    });
    log('wire', await exchange(await listen(server), post('z'.repeat(100_000))));
    await close(server);
  },
  read_returns_what_there_is: async (log) => {
    const server = http.createServer((req, res) => {
      let text = '';
      req.on('readable', () => {
        for (let part = req.read(); part !== null; part = req.read()) text += part;
      });
      req.on('end', () => res.end(text));
    });
    log('wire', await exchange(await listen(server), post('hello')));
    await close(server);
  },
  properties_of_a_request: async (log) => {
    const names = ['readable', 'readableEnded', 'readableFlowing', 'readableLength', 'readableHighWaterMark', 'readableEncoding',
      'readableObjectMode', 'readableAborted', 'readableDidRead', 'destroyed', 'closed', 'errored', 'complete', 'aborted', 'upgrade',
      'statusCode', 'statusMessage'];
    const server = http.createServer((req, res) => {
      const show = () => Object.fromEntries(names.map((name) => [name, req[name] === undefined ? 'undefined' : req[name]]));
      log('server', 'start', show(), req instanceof http.IncomingMessage, req instanceof Readable, req.socket === req.connection);
      req.on('close', () => log('server', 'close', show()));
      req.on('end', () => {
        log('server', 'end', show());
        res.end();
      });
      req.resume();
    });
    await exchange(await listen(server), post('hello'));
    await close(server);
  },
  a_request_without_body_ends_when_read: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', 'complete', req.complete, 'ended', req.readableEnded);
      req.on('data', () => log('server', 'data'));
      req.on('end', () => {
        log('server', 'end');
        res.end();
      });
    });
    await exchange(await listen(server), get());
    await close(server);
  },
  expect_continue_is_answered: async (log) => {
    const server = http.createServer(async (req, res) => res.end(await buffer(req)));
    const client = new RawClient(await listen(server));
    client.write('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n');
    log('wire', await client.until('Continue\r\n\r\n'));
    client.write('ok');
    log('wire', await client.all());
    await close(server);
  },
  checkContinue_decides: async (log) => {
    const server = http.createServer(() => log('server', 'request'));
    server.on('checkContinue', (req, res) => {
      log('server', 'checkContinue');
      res.writeHead(417, { Connection: 'close' }).end();
    });
    log('wire', await exchange(await listen(server), 'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n'));
    await close(server);
  },
  another_expectation_is_417: async (log) => {
    const request = get('/', 'Expect: miracles');
    log('wire', await serveOnce(http, (req, res) => res.end('not reached'), request));
    const server = http.createServer();
    server.on('checkExpectation', (req, res) => res.end(req.headers.expect));
    log('wire', await exchange(await listen(server), request));
    await close(server);
  },
};
