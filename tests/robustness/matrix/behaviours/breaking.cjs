'use strict';
// Handlers that end the exchange or the connection themselves, or throw.

const { pattern } = require('../pattern.cjs');

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** What a row's handler throws: the process's 'uncaughtException' tells it from all others. */
class RowError extends Error {
  name = 'RowError';
}

function half(response, then) {
  response.writeHead(200, { 'Content-Length': 20 });
  response.write('0123456789');
  then();
}

const alone = {
  'response-destroy': (request, response) => response.destroy(),
  'response-destroy-later': (request, response) => void setTimeout(() => response.destroy(), 5),
  'response-destroy-half': (request, response) => half(response, () => setTimeout(() => response.destroy(), 5)),
  'response-destroy-after-end': (request, response) => {
    response.end('ended');
    setTimeout(() => response.destroy(), 15);
  },
  'request-destroy': (request) => void request.destroy(),
  'request-destroy-later': (request) => void setTimeout(() => request.destroy(), 5),
  'request-destroy-first-part': (request, response) => {
    request.once('data', () => request.destroy());
    request.on('end', () => response.end('no part'));
  },
  'request-destroy-error': (request) => {
    request.on('error', () => undefined);
    request.destroy(new RowError('on purpose'));
  },
  'socket-destroy': (request) => void request.socket.destroy(),
  'socket-destroy-later': (request) => void setTimeout(() => request.socket.destroy(), 5),
  'socket-destroy-half': (request, response) => half(response, () => setTimeout(() => response.socket?.destroy(), 5)),
  'socket-end': (request) => void request.socket.end(),
  'socket-end-half': (request, response) => half(response, () => setTimeout(() => response.socket?.end(), 5)),
  'socket-end-after-answer': (request, response) => {
    request.resume();
    request.on('end', () => {
      const { socket } = response;
      response.end('ended');
      socket.end();
    });
  },
  'socket-destroy-soon': (request) => void request.socket.destroySoon(),
  'short-answer-destroy': async (request, response) => {
    response.write(pattern(100_000));
    await wait(5);
    response.destroy();
  },
  'throws': () => {
    throw new RowError('at once');
  },
  'throws-after-head': (request, response) => {
    response.write('begun');
    throw new RowError('after the head');
  },
  'throws-after-end': (request, response) => {
    response.end('ended');
    throw new RowError('after the end');
  },
  'throws-in-data': (request, response) => {
    request.on('data', () => {
      throw new RowError('in data');
    });
    request.on('end', () => response.end('read'));
  },
  'throws-in-end': (request) => {
    request.resume();
    request.on('end', () => {
      throw new RowError('in end');
    });
  },
  'throws-later': (request, response) => void setImmediate(() => {
    setImmediate(() => response.end('answered all the same'));
    throw new RowError('later');
  }),
};

/** These wait behind an earlier request of the connection, which is answered after a while. */
const queued = {
  'queued-response-destroy': (request, response) => half(response, () => setTimeout(() => response.destroy(), 1)),
  'queued-response-destroy-first': (request, response) => response.destroy(),
  'queued-request-destroy': (request) => void setTimeout(() => request.destroy(), 1),
  'queued-socket-destroy': (request) => void setTimeout(() => request.socket.destroy(), 1),
  'queued-big': (request, response) => {
    request.resume();
    response.end(pattern(1_048_576));
  },
  'queued-empty-write': (request, response) => {
    request.resume();
    response.write('some');
    response.write('');
    response.end('thing');
  },
  'queued-unread': (request, response) => response.end('behind'),
  'queued-pipe': (request, response) => request.pipe(response),
  'queued-throws': () => {
    throw new RowError('behind another');
  },
};

module.exports = { alone, queued, RowError };
