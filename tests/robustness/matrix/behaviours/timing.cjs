'use strict';
// Handlers that use timers of requests, answers and sockets, and answers that take longer than an idle connection may.

const { pattern } = require('../pattern.cjs');

/** Longer than keepAliveTimeout of a hasty server. */
const LONG_MS = 600;

const quick = {
  'response-timeout': (request, response) => {
    response.setTimeout(60, () => response.end('timed out'));
  },
  'response-timeout-destroys': (request, response) => {
    response.setTimeout(60);
  },
  'request-timeout': (request, response) => {
    request.setTimeout(60, () => {
      if (!response.headersSent) response.writeHead(408);
      response.end('too slow');
    });
  },
  'socket-timeout-unused': (request, response) => {
    request.socket.setTimeout(30_000);
    request.resume();
    request.on('end', () => response.end('in time'));
  },
  'socket-timeout-taken-back': (request, response) => {
    request.socket.setTimeout(40);
    request.socket.setTimeout(0);
    setTimeout(() => response.end('in time'), 100);
    request.resume();
  },
  'thinks-long': (request, response) => {
    request.resume();
    setTimeout(() => response.end('at last'), LONG_MS);
  },
  'thinks-long-unread': (request, response) => void setTimeout(() => response.end('at last'), LONG_MS),
  'reads-late': (request, response) => {
    let bytes = 0;
    setTimeout(() => {
      request.on('data', (part) => (bytes += part.length));
      request.on('end', () => response.end(`got ${bytes}`));
    }, LONG_MS);
  },
  'rests-in-answer': (request, response) => {
    request.resume();
    response.write('first ');
    setTimeout(() => response.end('last'), LONG_MS);
  },
};

const long = {
  'big-10m-timeout': (request, response) => {
    request.resume();
    // Output moves, so it is no time without activity; `late` readers rest longer than this.
    response.setTimeout(5000, () => response.destroy());
    response.end(pattern(10_485_760));
  },
};

module.exports = { quick, long };
