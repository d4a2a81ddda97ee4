'use strict';
// An application that PM2 runs: it listens on LISTEN, a port or a URL prefix, and ends as PM2's documentation asks.

const http = require('node:http');

const { LISTEN } = process.env;
const server = http.createServer((request, response) => setTimeout(() => response.end(String(process.pid)), 5));
server.listen(/^\d+$/.test(LISTEN) ? { port: Number(LISTEN), host: '127.0.0.1' } : LISTEN);
process.on('SIGINT', () => server.close(() => process.exit(0)));
