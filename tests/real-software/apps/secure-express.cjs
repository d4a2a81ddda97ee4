'use strict';
// Express on https, with a WebSocket server beside it. KEY and CERT are the files of its certificate; with PROTOCOLS, the
// server names its protocols itself.

const { readFileSync } = require('node:fs');
const https = require('node:https');
const express = require('express-5');
const { WebSocketServer } = require('ws');

const app = express();
app.use(express.json());
app.get('/', (req, res) => res.type('html').send('<!doctype html><title>secure</title><p id="version"></p>'));
app.get('/facts', (req, res) => res.json({
  version: req.httpVersion, secure: req.secure, host: req.host, ip: req.ip, alpn: req.socket.alpnProtocol, servername: req.socket.servername,
}));
app.post('/echo', (req, res) => res.json(req.body));

const { KEY, CERT, PROTOCOLS } = process.env;
const options = { key: readFileSync(KEY), cert: readFileSync(CERT), ...(PROTOCOLS && { ALPNProtocols: PROTOCOLS.split(' ') }) };
const server = https.createServer(options, app);
new WebSocketServer({ server, path: '/socket' }).on('connection', (socket, request) => {
  socket.send(`hello over ${request.httpVersion}`);
  socket.on('message', (data) => socket.send(`you said ${data}`));
});
server.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
