'use strict';
// Many servers in one process: node many.cjs PREFIX COUNT. Server N has the prefix PREFIX + N + '/'.

const http = require('node:http');

const [prefix, count] = process.argv.slice(2);
let listening = 0;
for (let number = 0; number < Number(count); number++) {
  const server = http.createServer((request, response) => response.end(String(number)));
  server.on('error', (error) => console.log(`error ${error.code} ${error.message}`));
  server.listen(`${prefix}${number}/`, () => {
    if (++listening === Number(count)) console.log('listening');
  });
}
