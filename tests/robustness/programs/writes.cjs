'use strict';
// Programs that write without a look at what `write` returns: the time must not grow with the square of the writes.

const http = require('node:http');

/** 200,000 writes of 100 bytes in one turn, as a template that writes line by line makes them. */
exports.many_small_writes_in_one_turn = (log) => {
  const line = Buffer.alloc(100, 'x');
  const server = http.createServer((request, response) => {
    let full = 0;
    for (let index = 0; index < 200_000; index++) full += response.write(line) ? 0 : 1;
    log('server', 'told to wait', full > 100_000);
    response.end();
  });
  server.listen(0, '127.0.0.1', () => {
    http.get({ port: server.address().port, host: '127.0.0.1', agent: false }, async (response) => {
      let bytes = 0;
      for await (const part of response) bytes += part.length;
      log('client', bytes);
      server.close();
    });
  });
};
