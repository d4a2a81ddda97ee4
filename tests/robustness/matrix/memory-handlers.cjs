'use strict';
// What the rows about memory ask for: answers from one shared buffer, answers that ignore back-pressure, uploads that
// the program does not read.

const { pattern } = require('./pattern.cjs');

const MIB = 1_048_576;

let held = 0;

const memoryHandlers = {
  'shared-10m': (request, response) => {
    held += 1;
    response.end(pattern(10 * MIB));
  },
  'own-100k': (request, response) => response.end(Buffer.alloc(100_000, 'x')),
  'text-100k': (request, response) => response.end('x'.repeat(100_000)),
  'tiny': (request, response) => response.end('tiny'),
  'flood-writes': (request, response) => {
    for (let count = 0; count < 160; count++) response.write(Buffer.alloc(65_536, 'x'));
    response.end();
  },
  'unread-for-ever': () => undefined,
  'paused-for-ever': (request) => request.once('data', () => request.pause()),
  'held': (request, response) => response.end(String(held)),
};

module.exports = { memoryHandlers };
