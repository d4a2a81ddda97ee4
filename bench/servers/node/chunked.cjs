'use strict';

/** `writeHead` before `end`: node:http sends this body chunked. */
module.exports = function chunked(request, response) {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('Hello, world!');
};
