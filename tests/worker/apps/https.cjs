'use strict';
// An https server on PORT, without a certificate of its own.

const https = require('node:https');

const server = https.createServer((request, response) => response.end(JSON.stringify({ encrypted: request.socket.encrypted, protocol: request.socket.getProtocol() })));
server.on('error', ({ code, message }) => console.log(`error ${code} ${message}`));
server.listen(process.env.PORT, () => console.log('listening'));
