'use strict';
// Preloaded into a plain run: leaves a file behind when node:http or node:http2 serves its first request.
// Written at once, not at exit, because a test may end its process in any way.

const { writeFileSync } = require('node:fs');
const { subscribe, unsubscribe } = require('node:diagnostics_channel');

const CHANNELS = ['http.server.request.start', 'http2.server.stream.created'];

function onRequest() {
  for (const channel of CHANNELS) unsubscribe(channel, onRequest);
  writeFileSync(process.env.NODE_SUITE_PROBE_FILE, 'served\n');
}

if (process.env.NODE_SUITE_PROBE_FILE) for (const channel of CHANNELS) subscribe(channel, onRequest);
