'use strict';

const body = Buffer.alloc(1024 * 1024, 'x');

module.exports = function megabyte(request, response) {
  response.setHeader('Content-Type', 'application/octet-stream');
  response.setHeader('Content-Length', body.length);
  response.end(body);
};
