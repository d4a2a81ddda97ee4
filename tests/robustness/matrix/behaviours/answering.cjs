'use strict';
// Handlers that read what comes and answer in every form: echoed, big, in many pieces, without a body, with trailers.

const { once } = require('node:events');
const { pipeline } = require('node:stream');
const { pattern } = require('../pattern.cjs');

const tick = () => new Promise((resolve) => setImmediate(resolve));
const MIB = 1_048_576;

/** Calls `then` at the body's end. */
function afterBody(request, then) {
  request.resume();
  request.on('end', then);
}

async function writeAll(response, total, pieceBytes, { heeds = true } = {}) {
  const bytes = pattern(total);
  for (let offset = 0; offset < total; offset += pieceBytes) {
    const more = response.write(bytes.subarray(offset, offset + pieceBytes));
    if (!more && heeds && !response.destroyed) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
}

const small = {
  'end-callback': (request, response) => afterBody(request, () => response.end('done', () => undefined)),
  'write-callbacks': (request, response) => afterBody(request, () => {
    response.write('one ', () => response.write('two ', () => response.end('three')));
  }),
  'empty-writes': (request, response) => afterBody(request, async () => {
    response.write('one ');
    await tick();
    response.write('');
    await tick();
    response.write('two');
    await tick();
    response.write(Buffer.alloc(0));
    response.end();
  }),
  'length-and-writes': (request, response) => afterBody(request, () => {
    response.setHeader('Content-Length', 6);
    response.write('abc');
    setImmediate(() => response.end('def'));
  }),
  'flush-headers': (request, response) => {
    response.writeHead(200, { 'X-Early': 'yes' });
    response.flushHeaders();
    afterBody(request, () => response.end('after the head'));
  },
  'trailers': (request, response) => afterBody(request, () => {
    if (request.httpVersion === '1.1') response.setHeader('Trailer', 'X-Sum');
    response.writeHead(200);
    response.write('with ');
    response.addTrailers({ 'X-Sum': '42' });
    response.end('trailers');
  }),
  'no-content': (request, response) => afterBody(request, () => response.writeHead(204).end()),
  'no-content-unread': (request, response) => response.writeHead(204).end(),
  'not-modified': (request, response) => afterBody(request, () => response.writeHead(304, { ETag: '"a"' }).end()),
  'no-body-but-written': (request, response) => afterBody(request, () => {
    response.writeHead(204);
    response.end('not allowed');
  }),
  'continue-again': (request, response) => {
    response.writeContinue();
    afterBody(request, () => response.end('continued'));
  },
  'processing': (request, response) => {
    response.writeProcessing();
    afterBody(request, () => response.end('processed'));
  },
  'early-hints': (request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload; as=style' });
    afterBody(request, () => response.end('hinted'));
  },
  'close-asked': (request, response) => afterBody(request, () => {
    response.setHeader('Connection', 'close');
    response.end('last');
  }),
  'corked': (request, response) => afterBody(request, () => {
    response.cork();
    response.write('one ');
    response.write('two');
    response.uncork();
    response.end();
  }),
};

const sizes = {
  'answer-0': (request, response) => response.end(),
  'answer-10': (request, response) => response.end('0123456789'),
  'answer-10-read': (request, response) => afterBody(request, () => response.end('0123456789')),
  'answer-length-0': (request, response) => afterBody(request, () => response.writeHead(200, { 'Content-Length': 0 }).end()),
  'ended-twice': (request, response) => {
    response.on('error', () => undefined);
    response.end('once');
    response.end('twice');
  },
  'written-behind-end': (request, response) => {
    response.on('error', () => undefined);
    response.end('once');
    response.write('more');
  },
  'tells-trailers': (request, response) => afterBody(request, () => response.end(JSON.stringify(request.rawTrailers))),
  'tells-state': (request, response) => afterBody(request, () => {
    const { complete, aborted, readableEnded, readableLength, httpVersion, destroyed } = request;
    response.end(JSON.stringify({ complete, aborted, readableEnded, readableLength, httpVersion, destroyed }));
  }),
  'corked-flush': (request, response) => afterBody(request, () => {
    response.cork();
    response.flushHeaders();
    response.write('one ');
    process.nextTick(() => {
      response.uncork();
      setImmediate(() => response.end('two'));
    });
  }),
  'corked-end': (request, response) => afterBody(request, () => {
    response.cork();
    response.write('one ');
    response.end('two');
  }),
};

const withHead = {
  'head-with-body': (request, response) => afterBody(request, () => response.end('never sent')),
  'head-length': (request, response) => afterBody(request, () => response.writeHead(200, { 'Content-Length': 100_000 }).end()),
  'head-flushed': (request, response) => {
    response.flushHeaders();
    afterBody(request, () => response.end());
  },
  'head-unread': (request, response) => response.end(),
};

const long = {
  'echo-pipe': (request, response) => request.pipe(response),
  'echo-pipeline': (request, response) => pipeline(request, response, () => undefined),
  'echo-length': (request, response) => {
    const length = request.headers['content-length'];
    if (length !== undefined) response.setHeader('Content-Length', length);
    request.pipe(response);
  },
  'echo-by-hand': async (request, response) => {
    try {
      for await (const part of request) if (!response.write(part)) await once(response, 'drain');
      response.end();
    } catch {
      response.destroy();
    }
  },
  'echo-at-end': (request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => response.end(Buffer.concat(parts)));
  },
  'big-1m': (request, response) => afterBody(request, () => response.end(pattern(MIB))),
  'big-1m-unread': (request, response) => response.end(pattern(MIB)),
  'big-1m-chunked': (request, response) => afterBody(request, () => {
    response.write(pattern(MIB));
    response.end();
  }),
  'answer-70k-unread': (request, response) => response.end(pattern(70_000)),
  'answer-5m': (request, response) => afterBody(request, () => response.end(pattern(5 * MIB))),
  'answer-5m-pieces': (request, response) => afterBody(request, () => writeAll(response, 5 * MIB, 70_000)),
  'big-10m': (request, response) => afterBody(request, () => response.end(pattern(10 * MIB))),
  'pieces-heeding': (request, response) => afterBody(request, () => writeAll(response, MIB, 16_000)),
  'pieces-flood': (request, response) => afterBody(request, () => writeAll(response, MIB, 16_000, { heeds: false })),
  'small-writes': (request, response) => afterBody(request, () => writeAll(response, 100_000, 50, { heeds: false })),
  'small-writes-ticks': (request, response) => afterBody(request, async () => {
    const bytes = pattern(5000);
    for (let offset = 0; offset < 5000; offset += 50) {
      response.write(bytes.subarray(offset, offset + 50));
      await tick();
    }
    response.end();
  }),
  'big-string': (request, response) => afterBody(request, () => response.end(pattern(300_000).toString('latin1'))),
};

module.exports = { small, sizes, withHead, long };
