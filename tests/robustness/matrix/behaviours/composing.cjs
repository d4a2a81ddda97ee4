'use strict';
// Handlers that give a body to the tools of node:stream: compositions, web streams, iterators that end early, signals,
// destinations that fail.

const { once } = require('node:events');
const { Readable, PassThrough, Transform, Writable, finished, addAbortSignal, compose, pipeline } = require('node:stream');
const { pipeline: pipelinePromise } = require('node:stream/promises');
const { Tally } = require('../pattern.cjs');

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const answer = (response, tally) => response.end(`got ${tally}`);

/** Ends the answer unless it has been given. */
function answerLeft(response, words) {
  if (!response.writableEnded) response.end(words);
}

/** A Writable that fails with its second part, or with its end. */
function failing() {
  let parts = 0;
  return new Writable({
    write: (part, encoding, done) => void setImmediate(done, parts++ === 1 ? new Error('on purpose') : null),
    final: (done) => done(new Error('on purpose')),
  });
}

module.exports = {
  'composed': async (request, response) => {
    const tally = new Tally();
    const upper = new Transform({ transform: (part, encoding, done) => void setImmediate(done, null, part) });
    try {
      for await (const part of compose(request, upper)) tally.add(part);
      answer(response, tally);
    } catch (error) {
      answerLeft(response, `failed ${error.code}`);
    }
  },
  'to-web-cancelled': async (request, response) => {
    const reader = Readable.toWeb(request).getReader();
    const { done } = await reader.read();
    await reader.cancel().catch(() => undefined);
    answerLeft(response, done ? 'none' : 'cancelled');
  },
  'to-web-left': async (request, response) => {
    const reader = Readable.toWeb(request).getReader();
    await reader.read();
    setTimeout(() => response.end('left'), 5);
  },
  'iterator-throws': async (request, response) => {
    try {
      for await (const part of request) if (part.length > 0) throw new Error('on purpose');
      response.end('none');
    } catch {
      answerLeft(response, 'thrown');
    }
  },
  'iterator-returned': async (request, response) => {
    const iterator = request[Symbol.asyncIterator]();
    const { done } = await iterator.next();
    await iterator.return();
    setTimeout(() => response.end(done ? 'none' : 'returned'), 5);
  },
  'iterator-never-begun': async (request, response) => {
    const iterator = request[Symbol.asyncIterator]();
    await iterator.return();
    setTimeout(() => response.end('returned'), 5);
  },
  'finished-request': (request, response) => {
    request.resume();
    finished(request, { writable: false }, (error) => answerLeft(response, `finished ${error?.code}`));
  },
  'finished-response': (request, response) => {
    finished(response, () => undefined);
    request.resume();
    request.on('end', () => response.end('told'));
  },
  'finished-unread': (request, response) => {
    finished(request, () => undefined);
    setTimeout(() => response.end('unread'), 5);
  },
  'pipeline-fails': (request, response) => {
    pipeline(request, failing(), (error) => answerLeft(response, `failed ${error?.message}`));
  },
  'pipeline-promise-fails': async (request, response) => {
    await pipelinePromise(request, failing()).catch(() => undefined);
    answerLeft(response, 'failed');
  },
  'pipe-fails': (request, response) => {
    request.pipe(failing()).on('error', () => setTimeout(() => answerLeft(response, 'failed'), 5));
  },
  'pipeline-aborted': async (request, response) => {
    const controller = new AbortController();
    request.once('data', () => controller.abort());
    await pipelinePromise(request, new PassThrough().resume(), { signal: controller.signal }).catch(() => undefined);
    answerLeft(response, 'aborted');
  },
  'abort-signal': (request, response) => {
    const controller = new AbortController();
    request.on('error', () => undefined);
    addAbortSignal(controller.signal, request);
    setTimeout(() => controller.abort(), 5);
    setTimeout(() => answerLeft(response, 'aborted'), 15);
  },
  'abort-signal-unused': (request, response) => {
    const tally = new Tally();
    addAbortSignal(new AbortController().signal, request);
    request.on('data', (part) => tally.add(part));
    request.on('end', () => answer(response, tally));
  },
  'unshift': (request, response) => {
    const tally = new Tally();
    request.once('data', (first) => {
      request.pause();
      request.unshift(first);
      setImmediate(() => {
        request.on('data', (part) => tally.add(part));
        request.resume();
      });
    });
    request.on('end', () => answer(response, tally));
  },
  'unshift-left': (request, response) => {
    request.once('data', (first) => {
      request.pause();
      request.unshift(first);
      setTimeout(() => response.end('left'), 5);
    });
    request.on('end', () => answerLeft(response, 'none'));
  },
  'once-end': async (request, response) => {
    request.resume();
    await once(request, 'end');
    response.end('ended');
  },
  'once-end-unread': (request, response) => {
    once(request, 'end').catch(() => undefined);
    setTimeout(() => response.end('unread'), 5);
  },
  'dumped-end': (request, response) => {
    request._dump();
    request.on('end', () => response.end('dumped'));
    setTimeout(() => answerLeft(response, 'no end'), 60);
  },
  'answered-in-end-of-dumped': (request, response) => {
    request.on('end', () => response.end(' the end'));
    response.write('before');
    setTimeout(() => {
      if (!request.readableEnded) request.resume();
    }, 5);
  },
  'wrapped': (request, response) => {
    const tally = new Tally();
    const wrapped = new Readable().wrap(request);
    wrapped.on('error', () => undefined);
    wrapped.on('data', (part) => tally.add(part));
    wrapped.on('end', () => answer(response, tally));
  },
  'read-after-answer-in-parts': async (request, response) => {
    response.write('before ');
    let bytes = 0;
    try {
      for await (const part of request) {
        bytes += part.length;
        await wait(1);
      }
    } catch {
      return;
    }
    response.end(`and ${bytes}`);
  },
};
