'use strict';
// Answers that Node lets through, whatever they are: node odd-answers.cjs PREFIX-OR-PORT. The last segment of the path says which.

const assert = require('node:assert/strict');
const http = require('node:http');
const { Writable } = require('node:stream');

const RAW = 'HTTP/1.1 200 Raw\r\nContent-Length: 3\r\n\r\nraw';
const LARGE = 'v'.repeat(70_000);

/** Answers with the code of what is thrown. */
function tryTo(response, action) {
  try {
    action();
    response.end('nothing was thrown');
  } catch (error) {
    response.end(error.code);
  }
}

const ACTIONS = {
  'too-long': (request, response) => response.writeHead(200, { 'Content-Length': 3 }).end('abcdef'),
  'too-long-later': (request, response) => {
    response.writeHead(200, { 'Content-Length': 3 }).write('ab');
    setImmediate(() => response.end('cdef'));
  },
  'too-short': (request, response) => response.writeHead(200, { 'Content-Length': 9 }).end('abc'),
  'no-number': (request, response) => response.writeHead(200, { 'Content-Length': 'many' }).end('abc'),
  'two-lengths': (request, response) => response.writeHead(200, [['Content-Length', '3'], ['Content-Length', '5']]).end('abc'),
  'length-and-coding': (request, response) => response.writeHead(200, { 'Content-Length': 3, 'Transfer-Encoding': 'chunked' }).end('abc'),
  'other-coding': (request, response) => response.writeHead(200, { 'Transfer-Encoding': 'gzip' }).end('abc'),
  'no-length': (request, response) => {
    response.removeHeader('content-length');
    response.removeHeader('transfer-encoding');
    response.end('abc');
  },
  switching: (request, response) => response.writeHead(101).end(),
  chunks: (request, response) => {
    response.write('a');
    setImmediate(() => response.end('b'));
  },
  'own-chunks': (request, response) => {
    response.setHeader('Transfer-Encoding', 'chunked');
    ACTIONS.chunks(request, response);
  },
  interim: (request, response) => {
    response.writeContinue();
    response.writeProcessing();
    response.writeEarlyHints({ link: '</a>; rel=preload', 'x-note': 'b' });
    response.end('ok');
  },
  'split-hint': (request, response) => tryTo(response, () => response.writeEarlyHints({ link: '</a>; rel=preload', 'x-note': 'b\r\nx-other: c' })),
  'split-link': (request, response) => tryTo(response, () => response.writeEarlyHints({ link: '</a\r\nx-other: c>; rel=preload' })),
  'large-head': (request, response) => response.writeHead(200, { 'x-large': LARGE }).end('ok'),
  'large-set': (request, response) => {
    response.setHeader('x-large', LARGE);
    response.end('ok');
  },
  'huge-head': (request, response) => {
    for (let index = 0; index < 40; index++) response.setHeader(`x-${index}`, LARGE);
    response.end('ok');
  },
  'beyond-all-heads': (request, response) => {
    for (let index = 0; index < 250; index++) response.setHeader(`x-${index}`, LARGE);
    response.end('ok');
  },
  'large-trailers': (request, response) => {
    response.writeHead(200, { Trailer: 'x-large' });
    response.write('a');
    response.addTrailers({ 'x-large': LARGE.repeat(20) });
    response.end();
  },
  'raw-interim': (request, response) => {
    response.socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Pro');
    response.socket.write('cessing\r\n\r\n');
    response.end('ok');
  },
  'raw-answer': (request, response) => response.socket.end('HTTP/1.1 200 Raw\r\nContent-Length: 3\r\n\r\nraw'),
  'raw-pieces': (request, response) => {
    response.socket.write('HTTP/1.1 200 Raw\r\nContent-');
    response.socket.write(Buffer.from('Length: 6\r\n\r\nr'));
    setImmediate(() => {
      response.socket.write('aw');
      response.socket.end('raw');
    });
  },
  'raw-until-end': (request, response) => response.socket.end('HTTP/1.1 404 Raw\r\n\r\nuntil the end'),
  'raw-refusal': (request, response) => response.socket.write('HTTP/1.1 413 Raw\r\nContent-Length: 0\r\n\r\n', () => response.socket.destroySoon()),
  'raw-nonsense': (request, response) => tryTo(response, () => response.socket.write('nonsense')),
  'raw-switching': (request, response) => tryTo(response, () => response.socket.write('HTTP/1.1 101 Switching\r\n\r\n')),
  'raw-chunks': (request, response) => tryTo(response, () => response.socket.write('HTTP/1.1 200 Raw\r\nTransfer-Encoding: chunked\r\n\r\n')),
  'raw-in-the-midst': (request, response) => {
    response.write('a');
    tryTo(response, () => response.socket.write('RAW'));
  },
  'raw-two': (request, response) => {
    const one = 'HTTP/1.1 200 Raw\r\nContent-Length: 3\r\n\r\nraw';
    response.socket.end(one + one);
  },
  'raw-then-end': (request, response) => {
    response.on('finish', () => console.log('finish')).on('close', () => console.log('close'));
    response.socket.write(RAW);
    response.end(() => console.log('end callback'));
  },
  'raw-then-end-later': (request, response) => response.socket.write(RAW, () => setTimeout(() => response.end(), 20)),
  'raw-then-socket-end': (request, response) => {
    response.socket.end(RAW);
    response.end();
  },
  'raw-by-stream': (request, response) => {
    Writable.prototype.write.call(response.socket, RAW, () => console.log('written'));
    response.end();
  },
  'raw-below-stream': (request, response) => {
    response.socket._write(RAW.slice(0, 20), 'latin1');
    response.socket._writev([{ chunk: RAW.slice(20, 30), encoding: 'latin1' }, { chunk: Buffer.from(RAW.slice(30)), encoding: 'buffer' }], () => {});
    response.end();
  },
  'raw-by-response': (request, response) => {
    response._writeRaw(RAW.slice(0, 20), 'latin1');
    response._send(Buffer.from(RAW.slice(20)));
    response.end();
  },
  'raw-then-body': (request, response) => {
    response.socket.write(RAW);
    assert.throws(() => response.end('body'), (error) => console.log(`body refused: ${error.code}`) ?? true);
    response.end();
  },
  'raw-nonsense-by-stream': (request, response) => tryTo(response, () => Writable.prototype.write.call(response.socket, 'nonsense')),
  'raw-nonsense-below-stream': (request, response) => tryTo(response, () => response.socket._write('nonsense', 'latin1', () => {})),
  'raw-nonsense-by-response': (request, response) => tryTo(response, () => response._writeRaw('nonsense')),
  'raw-nonsense-sent': (request, response) => tryTo(response, () => response._send('nonsense')),
  'raw-half-then-end': (request, response) => {
    response.socket.write('HTTP/1.1 200 Raw\r\nContent-Le');
    tryTo(response, () => response.end());
  },
  'late-interim': (request, response) => {
    response.write('a');
    tryTo(response, () => response.writeContinue());
  },
  'hint-with-length': (request, response) => tryTo(response, () => response.writeEarlyHints({ link: '</a>; rel=preload', 'Content-Length': '3' })),
  'hint-with-coding': (request, response) => tryTo(response, () => response.writeEarlyHints({ link: '</a>; rel=preload', 'transfer-encoding': 'chunked' })),
  'interim-status': (request, response) => response.writeHead(103).end(),
  'unknown-interim-status': (request, response) => {
    response.statusCode = 199;
    response.end();
  },
  'raw-half': (request, response) => {
    response.socket.on('error', (error) => console.log(`socket ${error.code}`));
    response.socket.end('HTTP/1.1 200 Raw\r\nContent-Le');
  },
  feed: (request, response) => tryTo(response, () => response.socket.unshift(Buffer.from('GET /fed HTTP/1.1\r\n\r\n'))),
  ends: (request, response) => response.socket.end(() => console.log('ended')),
  ok: (request, response) => response.end('ok'),
};

const server = http.createServer((request, response) => {
  console.log(`runs ${request.url}`);
  (ACTIONS[request.url.split('/').pop()] ?? ACTIONS.ok)(request, response);
});
server.on('error', (error) => console.log(`error ${error.code}`));
const place = process.argv[2];
server.listen(/^\d+$/.test(place) ? Number(place) : place, () => console.log(`listening ${JSON.stringify(server.address())}`));
