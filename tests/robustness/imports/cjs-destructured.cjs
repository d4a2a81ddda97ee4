'use strict';
const { createServer } = require('node:http');
require('./serve.cjs')('destructured require', { createServer });
