'use strict';
/**
 * uWebSockets.js with its own API, sending the headers that node:http sends.
 *
 * node uwebsockets.cjs HANDLER PORT [KEY CERTIFICATE]
 */
const uws = require('uwebsockets');

const [handlerName, port, keyFile, certificateFile] = process.argv.slice(2);
const big = Buffer.alloc(65536, 'x');
const megabyte = Buffer.alloc(1024 * 1024, 'x');

/** node:http's headers; Date and a header with its name uWebSockets.js sends itself. */
function head(response, request, type) {
  response.writeHeader('Content-Type', type);
  if (request.getHeader('connection') === 'close') return response.writeHeader('Connection', 'close');
  return response.writeHeader('Connection', 'keep-alive').writeHeader('Keep-Alive', 'timeout=5');
}

const handlers = {
  hello(response, request) {
    head(response, request, 'text/plain').end('Hello, world!');
  },
  'read-headers'(response, request) {
    let characters = 0;
    request.forEach((name, value) => (characters += name.length + value.length));
    globalThis.charactersRead = characters;
    head(response, request, 'text/plain').end('Hello, world!');
  },
  echo(response) {
    const chunks = [];
    response.onAborted(() => {});
    response.onData((chunk, last) => {
      chunks.push(Buffer.from(Buffer.from(chunk))); // the chunk's memory is only lent
      if (!last) return;
      const value = JSON.parse(Buffer.concat(chunks).toString());
      response.cork(() => {
        response.writeHeader('Content-Type', 'application/json');
        response.writeHeader('Connection', 'keep-alive').writeHeader('Keep-Alive', 'timeout=5');
        response.end(JSON.stringify(value));
      });
    });
  },
  big(response, request) {
    head(response, request, 'application/octet-stream').end(big);
  },
  megabyte(response, request) {
    head(response, request, 'application/octet-stream').end(megabyte);
  },
  writes(response, request) {
    head(response, request, 'text/plain');
    for (let row = 10; row < 60; row++) response.write(`a row of a table, ${row}\n`);
    response.end();
  },
  upload(response) {
    let bytes = 0;
    response.onAborted(() => {});
    response.onData((chunk, last) => {
      bytes += chunk.byteLength;
      if (!last) return;
      response.cork(() => {
        response.writeHeader('Content-Type', 'text/plain');
        response.writeHeader('Connection', 'keep-alive').writeHeader('Keep-Alive', 'timeout=5').end(String(bytes));
      });
    });
  },
};

const app = keyFile ? uws.SSLApp({ key_file_name: keyFile, cert_file_name: certificateFile }) : uws.App();
if (handlerName === 'websocket') {
  app.ws('/*', { maxPayloadLength: 1024 * 1024, message: (socket, message, binary) => socket.send(message, binary) });
} else {
  app.any('/*', handlers[handlerName]);
}
app.listen('127.0.0.1', Number(port), (socket) => {
  if (!socket) process.exit(1);
});
if (globalThis.gc) process.on('SIGUSR2', () => globalThis.gc());
