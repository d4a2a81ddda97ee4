'use strict';
const http = process.getBuiltinModule ? process.getBuiltinModule('node:http') : require('node:http');
require('./serve.cjs')('getBuiltinModule', http);
