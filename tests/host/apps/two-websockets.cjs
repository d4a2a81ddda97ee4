'use strict';
// socket.io beside a WebSocket server of the program's own, on one http server: node two-websockets.cjs PREFIX
// GET /traffic tells what its own connection has read and written, before its answer.

const http = require('node:http');
const { Server } = require('socket.io');
const { WebSocketServer } = require('ws');

const server = http.createServer((request, response) => {
  const { bytesRead, bytesWritten } = request.socket;
  response.end(JSON.stringify({ bytesRead, bytesWritten }));
});
const own = new WebSocketServer({ noServer: true });
server.on('upgrade', (request, socket, head) => {
  if (request.url.endsWith('/own')) own.handleUpgrade(request, socket, head, (client) => client.on('message', (data) => client.send(`${data} ${socket.bytesRead} ${socket.bytesWritten}`)));
});
// After this time socket.io ends sockets of upgrades to which no bytes were written.
new Server(server, { destroyUpgradeTimeout: 50 });
server.listen(process.argv[2], () => console.log('listening'));
