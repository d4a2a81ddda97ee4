'use strict';
// A process that answers nothing, whose requests have a second to arrive: node impatient.cjs PREFIX

const http = require('node:http');

const server = http.createServer({ requestTimeout: 1000 }, (request) => request.on('error', () => undefined));
server.listen(process.argv[2], () => console.log('listening'));
