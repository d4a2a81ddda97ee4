'use strict';
// Handlers that read the whole body, each in another way, and answer how many bytes it had.

const { createWriteStream } = require('node:fs');
const { Readable, Writable, pipeline } = require('node:stream');
const { Tally } = require('../pattern.cjs');

const tick = () => new Promise((resolve) => setImmediate(resolve));
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const answer = (response, tally) => response.end(`got ${tally}`);

/** A Writable that counts and takes its time for each part. */
function slowWritable(tally, options) {
  return new Writable({
    ...options,
    write(part, encoding, done) {
      tally.add(part);
      setImmediate(done);
    },
  });
}

function byData(request, response, prepare = () => undefined) {
  const tally = new Tally();
  request.on('data', (part) => tally.add(part));
  request.on('end', () => answer(response, tally));
  prepare();
}

module.exports = {
  'data': (request, response) => byData(request, response),
  'data-later': (request, response) => void setImmediate(() => byData(request, response)),
  'data-after-timer': (request, response) => void setTimeout(() => byData(request, response), 15),
  'for-await': async (request, response) => {
    const tally = new Tally();
    for await (const part of request) tally.add(part);
    answer(response, tally);
  },
  'for-await-slow': async (request, response) => {
    const tally = new Tally();
    for await (const part of request) {
      tally.add(part);
      await tick();
    }
    answer(response, tally);
  },
  'for-await-timer': async (request, response) => {
    const tally = new Tally();
    for await (const part of request) {
      tally.add(part);
      await wait(2);
    }
    answer(response, tally);
  },
  'pipeline-slow': (request, response) => {
    const tally = new Tally();
    pipeline(request, slowWritable(tally), (error) => (error ? response.destroy() : answer(response, tally)));
  },
  'pipeline-small-mark': (request, response) => {
    const tally = new Tally();
    pipeline(request, slowWritable(tally, { highWaterMark: 1 }), (error) => (error ? response.destroy() : answer(response, tally)));
  },
  'pipeline-file': (request, response) => {
    const file = createWriteStream('/dev/null');
    pipeline(request, file, (error) => (error ? response.destroy() : response.end(`got ${file.bytesWritten}`)));
  },
  'pipe-slow': (request, response) => {
    const tally = new Tally();
    request.pipe(slowWritable(tally)).on('finish', () => answer(response, tally));
  },
  'to-web': async (request, response) => {
    const tally = new Tally();
    for await (const part of Readable.toWeb(request)) tally.add(Buffer.from(part));
    answer(response, tally);
  },
  'pause-each': (request, response) => {
    byData(request, response);
    request.on('data', () => {
      request.pause();
      setImmediate(() => request.resume());
    });
  },
  'pause-each-timer': (request, response) => {
    byData(request, response);
    request.on('data', () => {
      request.pause();
      setTimeout(() => request.resume(), 2);
    });
  },
  'pause-at-once': (request, response) => {
    byData(request, response, () => request.pause());
    setTimeout(() => request.resume(), 15);
  },
  'readable': (request, response) => {
    const tally = new Tally();
    request.on('readable', () => {
      for (let part = request.read(); part !== null; part = request.read()) tally.add(part);
    });
    request.on('end', () => answer(response, tally));
  },
  'readable-sized': (request, response) => {
    const tally = new Tally();
    request.on('readable', () => {
      for (let part = request.read(1000); part !== null; part = request.read(1000)) tally.add(part);
    });
    request.on('end', () => answer(response, tally));
  },
  'readable-later': (request, response) => {
    const tally = new Tally();
    request.on('readable', () => setImmediate(() => {
      for (let part = request.read(); part !== null; part = request.read()) tally.add(part);
    }));
    request.on('end', () => answer(response, tally));
  },
  'set-encoding': (request, response) => byData(request, response, () => request.setEncoding('utf8')),
  'set-encoding-pause': (request, response) => {
    byData(request, response, () => request.setEncoding('latin1'));
    request.on('data', () => {
      request.pause();
      setImmediate(() => request.resume());
    });
  },
  'resume': (request, response) => {
    request.resume();
    request.on('end', () => response.end('dropped'));
  },
  'unpipe-then-data': (request, response) => {
    const tally = new Tally();
    const target = slowWritable(tally);
    request.pipe(target);
    request.once('data', () => setImmediate(() => {
      request.unpipe(target);
      request.on('data', (part) => tally.add(part));
      request.resume();
    }));
    request.on('end', () => setImmediate(() => setImmediate(() => response.end('read'))));
  },
};
