'use strict';
// Runs in a child: `node [--import portico/register] run-program.cjs FILE NAME`. One program, in a
// process of its own, that ends by itself: how and when it ends is what is tested.

const { spawn } = require('node:child_process');
const { writeSync } = require('node:fs');
const { resolve, join } = require('node:path');
const tools = require('./scenario-tools.cjs');

/** Prints a line at once, whatever happens to the process next. The actor's lines keep their order. */
function log(actor, ...parts) {
  const { log: note, lists } = tools.makeLog();
  note(actor, ...parts);
  writeSync(1, `${actor}: ${lists[actor][0].replaceAll('\r\n', '\\r\\n')}\n`);
}

/**
 * A client in another process, on plain node:net, so that it outlives this one. It sends `request`
 * and prints what it got when the connection is closed.
 */
function clientProcess(port, request) {
  return spawn(process.execPath, [join(__dirname, 'client.cjs'), String(port), request], { stdio: ['ignore', 'inherit', 'inherit'] });
}

const program = require(resolve(process.argv[2]))[process.argv[3]];
program(log, clientProcess);
