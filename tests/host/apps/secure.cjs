'use strict';
// An https server behind a host, which has the certificate: node secure.cjs PREFIX

const https = require('node:https');

const server = https.createServer((request, response) => {
  const { socket } = request;
  const { subject } = socket.getPeerCertificate();
  response.end(JSON.stringify({
    encrypted: socket.encrypted, authorized: socket.authorized, error: socket.authorizationError ?? null,
    protocol: socket.getProtocol(), cipher: socket.getCipher().name, servername: socket.servername, subject: subject?.CN ?? null,
  }));
});
server.listen(process.argv[2], () => console.log('listening'));
