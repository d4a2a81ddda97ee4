'use strict';
// Bytes that a handler writes to the socket of its response, beside what it writes to the response.

const http = require('node:http');
const { listen, close, RawClient } = require('../lib/scenario-tools.cjs');

/** What a client gets of a handler, without the date; `end` is the last it gets. */
function scenario(handler, end = '0\r\n\r\n') {
  return async (log) => {
    const server = http.createServer((req, res) => handler(res, log));
    const client = new RawClient(await listen(server)).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(end);
    log('wire', client.received.replace(/^Date: .*\r$/m, 'Date: <date>\r').replace(/R{100,}/g, ({ length }) => `<${length}>`));
    await close(server);
  };
}

module.exports = {
  a_chunk_by_hand: scenario((res) => {
    res.write('a');
    res.socket.write('5\r\nhello\r\n');
    res.end('b');
  }),
  bytes_behind_writes_of_several_kinds: scenario((res, log) => {
    res.write('a', () => log('callback', 'a'));
    res.write(Buffer.from('b'));
    res.socket.write('RAW', () => log('callback', 'raw'));
    res.write('', () => log('callback', 'empty'));
    res.socket.write(Buffer.from('MORE'));
    res.end('c', () => log('callback', 'end'));
  }),
  bytes_behind_a_head_and_a_write: scenario((res) => {
    res.writeHead(200, { 'X-Own': '1' });
    res.socket.write('FIRST');
    res.write('x');
    res.socket.write('RAW');
    res.end();
  }),
  bytes_behind_a_body_of_known_length: scenario((res) => {
    res.writeHead(200, { 'Content-Length': 2 });
    res.write('a');
    res.socket.write('RAW');
    res.end('b');
  }, /RAW[^]*b$/),
  bytes_behind_a_later_write: scenario((res) => {
    res.write('a');
    setImmediate(() => {
      res.write('b');
      res.socket.write('RAW');
      res.end('c');
    });
  }),
  bytes_behind_the_end: scenario((res) => {
    const { socket } = res;
    res.end('x');
    socket.write('RAW');
  }, 'RAW'),
  bytes_behind_corked_writes: scenario((res) => {
    res.cork();
    res.write('a');
    res.write('b');
    res.socket.write('RAW');
    res.write('c');
    res.uncork();
    res.end('d');
  }),
  bytes_behind_corked_writes_of_a_begun_response: scenario((res) => {
    res.write('a');
    setImmediate(() => {
      res.cork();
      res.write('b');
      res.write('c');
      res.socket.write('RAW');
      res.uncork();
      res.end('d');
    });
  }),
  bytes_on_a_corked_socket: scenario((res) => {
    res.socket.cork();
    res.write('a');
    res.socket.write('RAW');
    process.nextTick(() => {
      res.socket.uncork();
      res.end('b');
    });
  }),
  an_interim_answer_behind_a_write: scenario((res) => {
    res.write('x');
    res.writeContinue();
    res.end('y');
  }),
  an_interim_answer_behind_a_later_write: scenario((res) => {
    res.write('x');
    setImmediate(() => {
      res.write('y');
      res.writeProcessing();
      res.end('z');
    });
  }),
  an_interim_answer_behind_a_head: scenario((res) => {
    res.writeHead(200);
    res.writeContinue();
    res.end('y');
  }, 'y'),
  // Node 24 sends the last chunk before the body then.
  ...process.version.startsWith('v24.') ? {} : {
    bytes_behind_flushed_headers: scenario((res) => {
      res.write('a');
      res.flushHeaders();
      res.socket.write('RAW');
      res.end('b');
    }),
  },
  the_socket_corked_for_the_response: scenario((res) => {
    res.socket.cork();
    res.socket.write('RAW');
    res.write('a');
    res.socket.write('MORE');
    setTimeout(() => {
      res.socket.uncork();
      res.end('b');
    }, 10);
  }),
  callbacks_of_writes_that_wait: scenario((res, log) => {
    const { socket } = res;
    socket.write(Buffer.alloc(100_000, 'R'), () => log('callback', 'first'));
    socket.write('second', () => log('callback', 'second'));
    socket.write('third', () => log('callback', 'third', socket.writableLength));
    res.end('x');
  }, 'x'),
  bytes_behind_a_large_write: async (log) => {
    const server = http.createServer((req, res) => {
      res.write(Buffer.alloc(200_000, 'A'));
      res.socket.write('RAW');
      res.end('Z');
    });
    const client = new RawClient(await listen(server)).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until('0\r\n\r\n');
    // How much of a body becomes one chunk is not at issue.
    log('wire', client.received.replace(/^Date: .*\r\n/m, '').replace(/(?<=\r\n|RAW)[0-9a-f]+\r\n/g, '').replace(/\r\n/g, '').replace(/A+/, ({ length }) => `<${length}>`));
    await close(server);
  },
  the_socket_destroyed_behind_bytes: async (log) => {
    const server = http.createServer((req, res) => {
      res.write('a');
      res.socket.write('RAW', () => res.socket.destroy());
    });
    const client = new RawClient(await listen(server)).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    log('wire', (await client.all()).replace(/^Date: .*\r$/m, 'Date: <date>\r'));
    await close(server);
  },
};
