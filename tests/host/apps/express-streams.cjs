'use strict';
// Express and ws on an https server behind a host, which has the certificate: node express-streams.cjs PREFIX

const https = require('node:https');
const express = require('express-5');
const { WebSocketServer } = require('ws');

const app = express();
app.get('/facts', (req, res) => res.json({ pid: process.pid, version: req.httpVersion, host: req.host, secure: req.secure, alpn: req.socket.alpnProtocol }));
app.post('/echo', (req, res) => req.pipe(res));
app.get('/wait', (req, res) => {
  res.write('first');
  req.on('close', () => console.log('left'));
});
app.get('/destroy', (req, res) => {
  res.write('first');
  setTimeout(() => res.destroy(), 5);
});

const server = https.createServer(app);
new WebSocketServer({ server, path: '/socket' }).on('connection', (socket, { httpVersion }) => {
  socket.on('message', (data) => socket.send(`${httpVersion} ${data}`));
});
server.listen(process.argv[2], () => console.log('listening'));
