'use strict';
// Answers with one large buffer that all answers share; `/small` with a few bytes. Listens on PORT, or on the URL prefix
// that is its argument.

const http = require('node:http');

const shared = Buffer.alloc(10_000_000, 'x');
const [prefix] = process.argv.slice(2);

const server = http.createServer((req, res) => res.end(req.url === '/small' ? 'small' : shared));
const ready = () => console.log(`listening on ${server.address().port}`);
if (prefix === undefined) server.listen(Number(process.env.PORT), '127.0.0.1', ready);
else server.listen(prefix, ready);
