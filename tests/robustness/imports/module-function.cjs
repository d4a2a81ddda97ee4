'use strict';
const portico = require('portico');
require('./serve.cjs')('http()', portico.http());
