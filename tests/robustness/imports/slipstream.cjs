'use strict';
require('portico').slipstream();
require('./serve.cjs')('slipstream()', require('http'));
