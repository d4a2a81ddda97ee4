'use strict';
// A program as PM2 knows them: it says when it is ready, and ends when it is told to by a message.

const http = require('node:http');

let state = 'warming up';
const server = http.createServer((request, response) => response.end(state));
server.listen(process.env.PORT, () => {
  setTimeout(() => {
    state = 'ready';
    process.send('ready');
  }, 300);
});
process.on('message', (message) => {
  if (message !== 'shutdown') return;
  console.log('told to end');
  server.close(() => process.exit(0));
});
