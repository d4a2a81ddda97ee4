'use strict';
// Where the stacks of errors begin that methods of a response throw or tell of: with the method that the program called, and
// behind it the program.

const http = require('node:http');
const { close, exchange, get, listen } = require('../lib/scenario-tools.cjs');

const CONTROL = '\u0001';
/** What the handler does; an error that is told, and not thrown, goes to `told`. */
const FAULTS = {
  set_too_late: (req, res) => (res.flushHeaders(), res.setHeader('a', 'b')),
  set_a_bad_name: (req, res) => res.setHeader('a b', 'c'),
  set_a_bad_value: (req, res) => res.setHeader('a', CONTROL),
  set_nothing: (req, res) => res.setHeader('a', undefined),
  append_too_late: (req, res) => (res.flushHeaders(), res.appendHeader('a', 'b')),
  remove_too_late: (req, res) => (res.flushHeaders(), res.removeHeader('a')),
  get_by_a_number: (req, res) => res.getHeader(5),
  a_bad_status: (req, res) => res.writeHead(99),
  a_bad_status_at_the_end: (req, res) => (res.statusCode = 5, res.end()),
  two_heads: (req, res) => (res.writeHead(200), res.writeHead(200)),
  a_bad_reason: (req, res) => res.writeHead(200, 'a\nb'),
  half_a_field: (req, res) => res.writeHead(200, ['a']),
  a_bad_name_in_the_head: (req, res) => res.writeHead(200, { 'a b': 'c' }),
  a_bad_value_in_the_head: (req, res) => res.writeHead(200, { a: CONTROL }),
  write_null: (req, res) => res.write(null),
  write_an_object: (req, res) => res.write({}),
  end_with_a_number: (req, res) => res.end(5),
  bad_trailers: (req, res) => (res.write('a'), res.addTrailers({ 'a b': 'c' })),
  trailers_of_a_known_length: (req, res) => res.writeHead(200, { 'Content-Length': 1, Trailer: 'x' }),
  too_short: (req, res) => (res.strictContentLength = true, res.setHeader('Content-Length', 5), res.end('abc')),
  a_socket_of_two: (req, res) => res.assignSocket(req.socket),
  text_from_the_socket: (req) => req.socket.setEncoding('utf8'),
  a_bad_timeout: (req, res) => res.setTimeout('x'),
  write_behind_the_end: (req, res, told) => (res.on('error', told), res.end(), res.write('x')),
  end_behind_the_end: (req, res, told) => (res.on('error', told), res.end(), res.end('x')),
  write_when_destroyed: (req, res, told) => (res.on('error', told), res.destroy(), res.write('x', told)),
};

/** Functions of Node's between the method and what it throws; we have others, and leave them out. */
const HELPER = /^(write_|_write|Writable\.write|processHeader|storeHeader|getTimerDuration|ServerResponse\._storeHeader)$/;

/** The first two frames; a method under the name it is called by, and once where it calls the one that it stands for. */
function beginning({ stack }) {
  const names = stack.split('\n').map((line) => /^ {4}at ([^ ]+)(?: \[as (\w+)\])?/.exec(line)).filter(Boolean)
    .map(([, name, alias]) => (alias === undefined ? name : `${name.split('.')[0]}.${alias}`));
  return names.filter((name, index) => !HELPER.test(name) && name !== names[index - 1]).slice(0, 2);
}

module.exports = Object.fromEntries(Object.entries(FAULTS).map(([name, fault]) => [name, async (log) => {
  const server = http.createServer((req, res) => {
    let isTold = false;
    const show = (error) => {
      if (!isTold) log('server', error.code, beginning(error));
      isTold = true;
      req.socket.destroy();
    };
    try {
      fault(req, res, show);
    } catch (error) {
      show(error);
    }
  });
  await exchange(await listen(server), get());
  await close(server);
}]));
