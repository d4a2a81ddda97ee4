'use strict';
// Answers with one large buffer that all answers share; `/small` with a few bytes.

const http = require('node:http');

const shared = Buffer.alloc(10_000_000, 'x');

const server = http.createServer((req, res) => res.end(req.url === '/small' ? 'small' : shared));
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
