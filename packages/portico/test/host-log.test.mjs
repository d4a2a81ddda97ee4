// The log of a host that an application starts: it is kept up to its limit, and begins anew beyond it.

import assert from 'node:assert/strict';
import { appendFileSync, closeSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const { loadBinding } = createRequire(import.meta.url)('../dist/native/load.js');

test('a log beyond 1 MiB begins anew, and one of 1 MiB goes on', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const log = join(folder, 'host.log');
  const say = (text) => {
    const descriptor = loadBinding().openHostLog(join(folder, 'control.sock'), log);
    writeSync(descriptor, text);
    closeSync(descriptor);
  };

  say('first\n');
  assert.equal(readFileSync(log, 'utf8'), 'first\n');
  writeFileSync(log, 'x'.repeat(2 ** 20));
  say('y');
  assert.equal(statSync(log).size, 2 ** 20 + 1);
  say('anew\n');
  assert.equal(readFileSync(log, 'utf8'), 'anew\n');
  appendFileSync(log, 'z');
  say('on\n');
  assert.equal(readFileSync(log, 'utf8'), 'anew\nzon\n');
});
