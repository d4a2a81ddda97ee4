// Programs under test: started, heard, ended.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 10_000;
const LAST_OUTPUT_MS = 1_000;

/** Collects the lines of a child's output; `heard` is told each. */
export function hear(child, heard = () => undefined) {
  const lines = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      heard(line);
    });
  }
  return lines;
}

/**
 * Starts Node with `args`. Resolves when a line of its output matches `ready`, with
 * `{ child, pid, match, ended, output(), kill(signal) }`; rejects with the output if it ends before, or after a minute.
 * `started` gets the same without `match` at once. `node` is another
 * executable. Other options are those of spawn.
 */
export function startNode(args, { node = process.execPath, ...options }) {
  return startProgram([node, ...args], options);
}

/** The same for any command, a list of words. */
export async function startProgram([file, ...args], { ready, started, ...options }) {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const ended = endOf(child);
  let found;
  const matched = new Promise((resolve) => (found = resolve));
  const lines = hear(child, (line) => {
    const match = ready.exec(line);
    if (match !== null) found(match);
  });
  const output = () => lines.join('\n');
  const program = { child, pid: child.pid, ended, output, kill: (signal = 'SIGKILL') => endChild(child, signal) };
  started?.(program);
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the program did not listen in time; output:\n${output()}`)), START_LIMIT_MS);
  });
  const failed = ended.then(([status, signal]) => {
    throw new Error(`the program ended with ${status ?? signal}; output:\n${output()}`);
  });
  try {
    program.match = await Promise.race([matched, failed, late]);
  } finally {
    clearTimeout(timer);
    failed.catch(() => undefined);
  }
  return program;
}

/** Exit code and signal of a child, when its last output has been heard: that may come behind its end. */
async function endOf(child) {
  const closed = once(child, 'close').catch(() => undefined);
  const result = await once(child, 'exit');
  // Programs that it started may hold its output, and outlive it.
  await Promise.race([closed, pause(LAST_OUTPUT_MS, undefined, { ref: false })]);
  return result;
}

/** Sends `signal` to a child and resolves when it has ended; it is killed where that takes 10 s. */
export async function endChild(child, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  child.kill(signal);
  await once(child, 'exit');
  clearTimeout(timer);
}
