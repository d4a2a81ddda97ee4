'use strict';
// ws as its README writes it: a server on its own port's http server, with permessage-deflate,
// and a second one chosen by path in 'upgrade'.

const http = require('node:http');
const { WebSocketServer } = require('ws');

const server = http.createServer((req, res) => res.end('plain http'));
const echo = new WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 0 }, maxPayload: 32 << 20 });
const broadcast = new WebSocketServer({ noServer: true });

echo.on('connection', (socket, request) => {
  socket.on('error', (error) => console.log(`socket error ${error.code}`));
  socket.on('close', (code, reason) => console.log(`closed ${code} ${reason}`));
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  socket.send(`hello ${request.url} ${request.socket.remoteAddress}`);
});
broadcast.on('connection', (socket) => {
  socket.on('message', (data) => {
    for (const client of broadcast.clients) client.send(`all: ${data}`);
  });
});
server.on('upgrade', (request, socket, head) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname === '/denied') {
    socket.write('HTTP/1.1 401 Unauthorized\r\n\r\n');
    socket.destroy();
    return;
  }
  const target = pathname === '/all' ? broadcast : echo;
  target.handleUpgrade(request, socket, head, (client) => target.emit('connection', client, request));
});
server.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
