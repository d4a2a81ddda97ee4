'use strict';
// Takes 100 ms for each request: node slow-member.cjs PREFIX

const http = require('node:http');

const server = http.createServer((request, response) => setTimeout(() => response.end('slow'), 100));
server.listen(process.argv[2], () => console.log('listening'));
