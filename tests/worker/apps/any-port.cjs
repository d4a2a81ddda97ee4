'use strict';
// `node any-port.cjs`: listens on a port of the system's choice, as programs under test do, and then on another one.

const http = require('node:http');

const first = http.createServer((request, response) => response.end('first'));
const second = http.createServer((request, response) => response.end('second'));
first.listen(() => second.listen(0, () => console.log(`listening ${first.address().port} ${second.address().port}`)));
