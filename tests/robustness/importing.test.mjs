// Each way to load Portico and each way to get at http: all must end on the engine.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readCounters } from '../support/counters.mjs';
import { environment, plain, preload, testsFolder } from '../support/mode.mjs';

const programs = join(import.meta.dirname, 'imports');

/** Runs a program; returns its lines, its standard error and what its engines did. */
function run(t, program, { flags = preload, env = {} } = {}) {
  const scratch = mkdtempSync(join(tmpdir(), 'portico-import-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const counters = join(scratch, 'counters');
  const options = { cwd: testsFolder, env: { ...environment(counters), ...env }, encoding: 'utf8', timeout: 20_000 };
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, join(programs, program)], options);
  return { status, stderr, lines: stdout.trim().split('\n'), counters: readCounters(counters) };
}

describe('with a preload', () => {
  const forms = {
    'cjs.cjs': 'require',
    'cjs-destructured.cjs': 'destructured require',
    'esm-default.mjs': 'default import',
    'esm-named.mjs': 'named import',
    'esm-namespace.mjs': 'namespace import',
    'esm-dynamic.mjs': 'dynamic import',
    'esm-class.mjs': 'named class',
    'builtin-module.cjs': 'getBuiltinModule',
  };
  for (const [program, name] of Object.entries(forms)) {
    for (const flag of plain ? ['none'] : ['--import', '--require']) {
      test(`${name}, ${flag}`, (t) => {
        const { lines, counters, stderr } = run(t, program, { flags: plain ? [] : [flag, 'portico/register'] });
        assert.deepEqual(lines, [`served by ${name}`], stderr);
        assert.equal(stderr, '');
        if (!plain) assert.deepEqual(counters, { processes: 1, connections: 1, requests: 1 });
      });
    }
  }

  test('NODE_OPTIONS', { skip: plain }, (t) => {
    const { lines, counters } = run(t, 'esm-named.mjs', { flags: [], env: { NODE_OPTIONS: '--import=portico/register' } });
    assert.deepEqual([lines, counters.requests], [['served by named import'], 1]);
  });
});

describe('without a preload', { skip: plain }, () => {
  const forms = {
    'first-import.mjs': ['served by first import'],
    'first-require.cjs': ['served by first require'],
    'own-module.mjs': ["node:http is Node's", 'served by portico/http'],
    'module-function.cjs': ['served by http()'],
    'slipstream.cjs': ['served by slipstream()'],
  };
  for (const [program, expected] of Object.entries(forms)) {
    test(program, (t) => {
      const { lines, counters, stderr } = run(t, program, { flags: [] });
      assert.deepEqual(lines.sort(), expected, stderr);
      assert.equal(counters.requests, 1);
    });
  }
});

describe('where the engine cannot be used', { skip: plain }, () => {
  const missing = { PORTICO_NATIVE: '/no/such/add-on.node' };

  test('node:http serves, with one notice', (t) => {
    const { status, lines, counters, stderr } = run(t, 'esm-named.mjs', { env: { ...missing, PORTICO_REQUIRE: '' } });
    assert.deepEqual([status, lines, counters.requests], [0, ['served by named import'], 0]);
    assert.equal(stderr.match(/PORTICO_FALLBACK/g)?.length, 1, stderr);
  });

  test('PORTICO_REQUIRE makes it an error', (t) => {
    const { status, lines, stderr } = run(t, 'esm-named.mjs', { env: missing });
    assert.notEqual(status, 0);
    assert.deepEqual(lines, ['']);
    assert.match(stderr, /no\/such\/add-on\.node/);
  });

  test('PORTICO_DISABLE leaves node:http in place without a word', (t) => {
    const { status, lines, counters, stderr } = run(t, 'esm-named.mjs', { env: { PORTICO_DISABLE: '1', PORTICO_REQUIRE: '' } });
    assert.deepEqual([status, lines, counters.requests, stderr], [0, ['served by named import'], 0, '']);
  });
});
