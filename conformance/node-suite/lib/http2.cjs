'use strict';
// Preloaded behind portico/register for tests of node:http2: puts the server side of portico/http2 into Node's own module.

const { dirname, join } = require('node:path');
const { syncBuiltinESMExports } = require('node:module');
const http2 = require('node:http2');

const { createServer, createSecureServer } = require(join(dirname(process.env.NODE_SUITE_REGISTER), 'http2.js'));
Object.assign(http2, { createServer, createSecureServer });
syncBuiltinESMExports();
