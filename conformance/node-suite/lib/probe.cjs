'use strict';
// Preloaded into a plain run: leaves a file behind when node:http serves its first request.
// Written at once, not at exit, because a test may end its process in any way.

const { writeFileSync } = require('node:fs');
const { subscribe, unsubscribe } = require('node:diagnostics_channel');

const CHANNEL = 'http.server.request.start';

function onRequest() {
  unsubscribe(CHANNEL, onRequest);
  writeFileSync(process.env.NODE_SUITE_PROBE_FILE, 'served\n');
}

if (process.env.NODE_SUITE_PROBE_FILE) subscribe(CHANNEL, onRequest);
