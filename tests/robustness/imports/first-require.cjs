'use strict';
require('portico/register');
const { createServer } = require('node:http');
require('./serve.cjs')('first require', { createServer });
