'use strict';
// Requests that a server must refuse: what it answers, what 'clientError' says, and that it goes on.

const http = require('node:http');
const { exchange, get, listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const CASES = {
  garbage: '\x01\x02\x03\r\n\r\n',
  tls_client_hello: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  http2_preface: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  unknown_method: 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n',
  lower_case_method: 'get / HTTP/1.1\r\nHost: a\r\n\r\n',
  no_target: 'GET HTTP/1.1\r\nHost: a\r\n\r\n',
  bad_target: 'GET nonsense HTTP/1.1\r\nHost: a\r\n\r\n',
  bad_version: 'GET / HTTP/9.9\r\nHost: a\r\n\r\n',
  bad_protocol: 'GET / FTP/1.1\r\nHost: a\r\n\r\n',
  space_before_colon: get('/', 'X-A : b'),
  space_in_name: get('/', 'X A: b'),
  no_colon: get('/', 'nonsense'),
  empty_name: get('/', ': b'),
  nul_in_value: get('/', 'X-A: a\0b'),
  control_in_value: get('/', 'X-A: a\x07b'),
  obs_fold: get('/', 'X-A: a', ' b'),
  bare_lf: 'GET / HTTP/1.1\nHost: a\n\n',
  bare_cr: 'GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n',
  two_content_lengths: get('/', 'Content-Length: 1', 'Content-Length: 2'),
  same_content_length_twice: get('/', 'Content-Length: 0', 'Content-Length: 0'),
  list_content_length: get('/', 'Content-Length: 1, 1'),
  negative_content_length: get('/', 'Content-Length: -1'),
  plus_content_length: get('/', 'Content-Length: +1'),
  hex_content_length: get('/', 'Content-Length: 0x10'),
  huge_content_length: get('/', 'Content-Length: 99999999999999999999999'),
  length_and_chunked: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  chunked_not_last: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
  unknown_coding: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n',
  chunked_twice: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  bad_chunk_size: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
  chunk_too_long: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n',
  chunk_size_overflow: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
  head_too_large: get('/', `X-A: ${'a'.repeat(20_000)}`),
  target_too_large: get(`/${'a'.repeat(20_000)}`),
  empty_host: 'GET / HTTP/1.1\r\nHost:\r\n\r\n',
  blank_host: 'GET / HTTP/1.1\r\nHost: \t \r\n\r\n',
  host_with_spaces: 'GET / HTTP/1.1\r\nHost: a b\tc\r\n\r\n',
  host_with_two_ports: 'GET / HTTP/1.1\r\nHost: a:1:80\r\n\r\n',
  host_with_a_path: 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n',
  host_above_ascii: 'GET / HTTP/1.1\r\nHost: \xe4\r\n\r\n',
  two_hosts: 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  upgrade_nonsense: get('/', 'Upgrade: '),
};

// The answer to the client is Node's default for the error.
const answered = (request) => async (log) => {
  const server = http.createServer((req, res) => {
    log('server', req.method, req.url, req.headers.host, req.rawHeaders.join('|'));
    req.on('error', (error) => log('server', 'req error', error));
    req.resume();
    req.on('end', () => {
      res.setHeader('Connection', 'close');
      res.end('accepted');
    });
  });
  const port = await listen(server);
  const client = new RawClient(port);
  client.write(request);
  client.socket.end();
  log('wire', await client.all());
  log('wire', await exchange(port, get('/after')));
  await close(server);
};

// The same, seen by 'clientError'.
const reported = (request) => async (log) => {
  const server = http.createServer((req, res) => {
    req.on('error', () => {});
    req.resume().on('end', () => res.end('accepted'));
  });
  server.on('clientError', (error, socket) => {
    const { code, bytesParsed, rawPacket } = error;
    // Where in the packet the parser stopped, and its words, are its own; the code is documented.
    log('server', 'clientError', code, typeof bytesParsed, Buffer.isBuffer(rawPacket), socket.writable);
    socket.end('HTTP/1.1 400 Mine\r\nConnection: close\r\n\r\n');
  });
  const client = new RawClient(await listen(server));
  client.write(request);
  client.socket.end();
  log('wire', await client.all());
  await close(server);
};

for (const [name, request] of Object.entries(CASES)) {
  exports[`${name}_is_answered`] = answered(request);
  exports[`${name}_is_reported`] = reported(request);
}

// 'clientError' shows the packet that the error is in, and where in it.
const PACKETS = {
  method: ['BR', 'EW / HTTP/1.1\r\nHost: a\r\n\r\n'],
  method_behind_an_empty_line: ['\r\n', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n'],
  version: ['GET / HTTP/', '9.9\r\nHost: a\r\n\r\n'],
  protocol: ['GET / ', 'FTP/1.1\r\nHost: a\r\n\r\n'],
  target: ['GET ', 'nonsense HTTP/1.1\r\nHost: a\r\n\r\n'],
  name: ['GET / HTTP/1.1\r\nHost: a\r\n', 'X A: b\r\n\r\n'],
  value: ['GET / HTTP/1.1\r\nHost: a\r\nX-A: a', 'a\0b\r\nMore: x\r\n\r\n'],
  value_in_the_third: ['GET / HT', 'TP/1.1\r\nHost: a\r\n', 'X-A: a\0b\r\n\r\n'],
  name_in_the_second: ['GET / HT', 'TP/1.1\r\nHo st: a\r\n', 'X-A: ab\r\n\r\n'],
  length: ['GET / HTTP/1.1\r\nHost: a\r\nContent-Le', 'ngth: x\r\n\r\n'],
  lengths: ['GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n', 'Content-Length: 2\r\n\r\n'],
  bare_cr: ['GET / HTTP/1.1\r\nHost: a\r', 'x: y\r\n\r\n'],
  second_request: ['GET / HTTP/1.1\r\nHost: a\r\n\r\nGE', 'X / HTTP/1.1\r\n\r\n'],
  request_behind_another: ['GET / HTTP/1.1\r\nHost: a\r\n\r\nBREW / HTTP/1.1\r\nHost: a\r\n\r\n'],
  chunk: ['POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2', 'xyz\r\n'],
  trailer: ['POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nab', ' c: d\r\n\r\n'],
  size: [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(10_000)}`, 'b'.repeat(10_000)],
};
for (const [name, packets] of Object.entries(PACKETS)) {
  exports[`a_bad_${name}_in_packets`] = async (log) => {
    const server = http.createServer((req, res) => {
      req.on('error', () => {});
      req.resume().on('end', () => res.end('accepted'));
    });
    server.on('clientError', (error, socket) => {
      log('server', error.message, error.bytesParsed, error.rawPacket.length, error.rawPacket.toString('latin1', 0, 100), Object.keys(error));
      socket.destroy();
    });
    const client = new RawClient(await listen(server));
    for (const packet of packets) {
      client.write(packet);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    await client.all();
    await close(server);
  };
}

exports.a_refused_request_after_a_good_one = async (log) => {
  const server = http.createServer((req, res) => res.end(req.url));
  const client = new RawClient(await listen(server));
  client.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until('/1');
  client.write('nonsense\r\n\r\n');
  log('wire', await client.all());
  await close(server);
};

exports.maxHeaderSize_is_an_option = async (log) => {
  const server = http.createServer({ maxHeaderSize: 1024 }, (req, res) => res.end('ok'));
  const port = await listen(server);
  log('wire', await exchange(port, get('/', `X-A: ${'a'.repeat(500)}`)));
  log('wire', await exchange(port, get('/', `X-A: ${'a'.repeat(1500)}`)));
  await close(server);
};

exports.maxHeaderSize_of_megabytes = async (log) => {
  const server = http.createServer({ maxHeaderSize: 4 << 20 }, (req, res) => res.end(`${req.url} ${req.headers['x-a'].length}`));
  const port = await listen(server);
  for (const bytes of [60_000, 70_000, 600_000, 1_100_000, 2_200_000, 4_100_000]) log('wire', bytes, await exchange(port, get('/', `X-A: ${'a'.repeat(bytes)}`)));
  await close(server);
};

exports.a_reset_connection_is_a_clientError = async (log) => {
  const server = http.createServer(() => {});
  server.on('clientError', (error) => log('server', error.code));
  const client = new RawClient(await listen(server));
  client.write('GET / HTTP/1.1\r\nHo');
  await new Promise((resolve) => setTimeout(resolve, 20));
  client.socket.resetAndDestroy();
  await new Promise((resolve) => setTimeout(resolve, 30));
  await close(server);
};

exports.a_half_request_then_the_end_is_a_clientError = async (log) => {
  const server = http.createServer(() => {});
  server.on('clientError', (error, socket) => {
    log('server', error.code);
    socket.destroy();
  });
  const client = new RawClient(await listen(server));
  client.write('GET / HTTP/1.1\r\nHo');
  client.socket.end();
  await client.all();
  await close(server);
};

exports.a_clientError_listener_that_does_nothing_leaves_the_end_to_the_client = async (log) => {
  const server = http.createServer((req, res) => res.end('x'));
  server.on('clientError', (error, socket) => {
    log('server', error.code);
    socket.on('close', () => log('server', 'close'));
  });
  const client = new RawClient(await listen(server));
  client.write('nonsense\r\n\r\n');
  await new Promise((resolve) => setTimeout(resolve, 30));
  log('wire', client.text(), client.ended);
  client.socket.end();
  log('wire', await client.all());
  await new Promise((resolve) => server.close(resolve));
};

exports.what_comes_after_an_error_is_an_error_again = async (log) => {
  let count = 0;
  const server = http.createServer((req, res) => res.end('x'));
  server.on('clientError', (error, socket) => {
    count += 1;
    log('server', error.code, error.rawPacket.toString());
    if (count === 3) socket.destroy();
    else client.write(`*${count}`);
  });
  const client = new RawClient(await listen(server));
  client.write('*');
  log('wire', await client.all());
  await close(server);
};
