'use strict';

/** A page in 50 small parts, all in one tick, as templates write it. */
module.exports = function writes(request, response) {
  response.setHeader('Content-Type', 'text/plain');
  for (let row = 10; row < 60; row++) response.write(`a row of a table, ${row}\n`);
  response.end();
};
