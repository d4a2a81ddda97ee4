'use strict';

const body = Buffer.alloc(65536, 'x');

module.exports = function big(request, response) {
  response.setHeader('Content-Type', 'application/octet-stream');
  response.setHeader('Content-Length', body.length);
  response.end(body);
};
