#!/usr/bin/env node
// `portico`: runs the program of this machine's platform in place of this process.

'use strict';

const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { constants } = require('node:os');
const { join } = require('node:path');
const { installAdvice, builtPrograms } = require('../dist/native/platform');

const program = process.env.PORTICO_PROGRAM || builtPrograms().find((file) => existsSync(file));
if (program === undefined) {
  process.stderr.write(`portico: there is no program for ${process.platform} on ${process.arch} here. ${installAdvice()}\n`);
  process.exit(1);
}

// What `portico run` preloads lies in this package, wherever the application is.
process.env.PORTICO_PACKAGE = join(__dirname, '..');

// The process that a shell, a container or a supervisor started becomes the program itself: its signals and its exit
// code need nobody in between. Node.js before 22.15 can't do that.
if (typeof process.execve === 'function') {
  try {
    process.execve(program, [program, ...process.argv.slice(2)], process.env);
  } catch (error) {
    fail(error);
  }
} else {
  runAsChild();
}

function runAsChild() {
  const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    // A terminal sends its signals to both processes; the program takes a second one of a kind as "at once".
    process.on(signal, () => process.stdin.isTTY && signal === 'SIGINT' || child.kill(signal));
  }
  child.on('error', fail);
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]));
}

function fail(error) {
  process.stderr.write(`portico: ${program} can't be started: ${error.message}. ${installAdvice()}\n`);
  process.exit(1);
}
