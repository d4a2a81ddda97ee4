'use strict';
// A WebSocket server: on /numbers it says one, two, three and closes; elsewhere it echoes.

const http = require('node:http');
const { WebSocketServer } = require('ws');

const server = http.createServer();
const sockets = new WebSocketServer({ server });
sockets.on('connection', (socket, request) => {
  if (!request.url.endsWith('/numbers')) return void socket.on('message', (data) => socket.send(String(data)));
  const words = ['one', 'two', 'three'];
  const timer = setInterval(() => {
    socket.send(words.shift());
    if (words.length > 0) return;
    clearInterval(timer);
    socket.close();
  }, 30);
});
server.listen(process.env.PORT, () => console.log('listening'));
