// Programs that end, crash or are stopped: each runs in a process of its own on node:http and on
// Portico, and must print the same lines and end in the same way.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { environment, preload, testsFolder } from '../support/mode.mjs';

const LIMIT_MS = 20_000;
const folder = join(import.meta.dirname, 'programs');
const runner = join(import.meta.dirname, 'lib/run-program.cjs');
const scratch = mkdtempSync(join(tmpdir(), 'portico-process-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

const only = process.env.SCENARIOS; // a part of a file name, while working on one theme

for (const file of readdirSync(folder).filter((name) => name.endsWith('.cjs') && (!only || name.includes(only)))) {
  const names = Object.keys(createRequire(import.meta.url)(join(folder, file)));
  describe(file.replace('.cjs', ''), { concurrency: 3 }, () => {
    for (const name of names) {
      test(name.replaceAll('_', ' '), async () => {
        const [node, portico] = await Promise.all([
          outcomeOf(file, name, [], { ...environment(''), PORTICO_REQUIRE: '' }),
          outcomeOf(file, name, preload, environment(join(scratch, name))),
        ]);
        assert.notEqual(node.signal, 'SIGKILL at the time limit');
        assert.deepEqual(portico, node);
      });
    }
  });
}

function outcomeOf(file, name, flags, env) {
  return new Promise((resolve) => {
    const options = { cwd: testsFolder, env, timeout: LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 24 };
    const child = execFile(process.execPath, [...flags, runner, join(folder, file), name], options, (error, stdout, stderr) => {
      resolve({
        status: child.exitCode,
        signal: error?.killed ? 'SIGKILL at the time limit' : child.signalCode,
        lines: byActor(stdout),
        // Of an exception's report, what a user reads: the error, not where in Node it passed.
        stderr: stderr.split('\n').filter((line) => /^(Uncaught )?\w*(Error|Warning)\b|^(Uncaught|Emitted)|FATAL|panicked/.test(line))
          .map((line) => line.replace(/:\d{4,5}\b/g, ':<port>')),
      });
    });
  });
}

/** Lines of different actors may mix in any order; those of one actor keep theirs. */
function byActor(stdout) {
  const lists = {};
  for (const line of stdout.split('\n').filter(Boolean)) {
    const actor = line.slice(0, line.indexOf(':'));
    (lists[actor] ??= []).push(line);
  }
  if (lists.client) lists.client.sort();
  return lists;
}
