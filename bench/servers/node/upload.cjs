'use strict';

/** Reads a body by 'data' and says how long it was. */
module.exports = function upload(request, response) {
  let bytes = 0;
  request.on('data', (chunk) => (bytes += chunk.length));
  request.on('end', () => {
    response.setHeader('Content-Type', 'text/plain');
    response.end(String(bytes));
  });
};
