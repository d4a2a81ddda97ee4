'use strict';
/**
 * One of the Node processes: node member.cjs ADDRESS [PATH]. ADDRESS is a port on 127.0.0.1 or a URL prefix. Answers as
 * servers/node/hello.cjs does, and says so on standard output when it listens.
 */
const http = require('node:http');
const hello = require('../node/hello.cjs');

const [address] = process.argv.slice(2);
const server = http.createServer(hello);
// A proxy keeps its connections for longer than five seconds; a request that meets a close would be an error of ours.
server.keepAliveTimeout = 120_000;
const announce = () => console.log('listening');
if (address.includes('://')) server.listen(address, announce);
else server.listen(Number(address), '127.0.0.1', announce);
