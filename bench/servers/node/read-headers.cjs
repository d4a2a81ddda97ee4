'use strict';

/** Touches each header's name and value. The sum is kept where the compiler can't prove it unused. */
module.exports = function readHeaders(request, response) {
  let characters = 0;
  for (const name in request.headers) characters += name.length + request.headers[name].length;
  globalThis.charactersRead = characters;
  response.setHeader('Content-Type', 'text/plain');
  response.end('Hello, world!');
};
