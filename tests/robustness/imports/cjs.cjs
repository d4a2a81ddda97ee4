'use strict';
const http = require('http');
require('./serve.cjs')('require', http);
