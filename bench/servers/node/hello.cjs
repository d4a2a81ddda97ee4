'use strict';

module.exports = function hello(request, response) {
  response.setHeader('Content-Type', 'text/plain');
  response.end('Hello, world!');
};
