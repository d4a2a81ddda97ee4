'use strict';

/** One process that answers for both prefixes: what the processes behind a proxy or a host are compared with. */
module.exports = require('./hello.cjs');
