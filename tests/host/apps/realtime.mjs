// Express 5, ws and socket.io behind a host: node realtime.mjs PREFIX

import express from 'express-5';
import http from 'node:http';
import { Server } from 'socket.io';
import { WebSocketServer } from 'ws';

const prefix = process.argv[2];
const base = new URL(prefix.replace('//*', '//localhost')).pathname;

const app = express();
app.use(express.json());
app.get(`${base}hello`, (request, response) => response.json({ ip: request.ip, protocol: request.protocol, path: request.path }));
app.post(`${base}echo`, (request, response) => response.json(request.body));

const server = http.createServer(app);
const io = new Server(server, { path: `${base}socket.io/` });
io.on('connection', (socket) => socket.on('shout', (text, answer) => answer(text.toUpperCase())));

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 0 } });
sockets.on('connection', (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })));
server.on('upgrade', (request, socket, head) => {
  if (request.url.startsWith(`${base}ws`)) sockets.handleUpgrade(request, socket, head, (client) => sockets.emit('connection', client, request));
});

server.listen(prefix, () => console.log('listening'));
