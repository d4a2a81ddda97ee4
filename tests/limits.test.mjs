// Each limit that has a name stands in LIMITS.md, with its value and the test that goes beyond it.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const crates = join(import.meta.dirname, '../crates');
const sources = readdirSync(crates, { recursive: true }).filter((name) => name.endsWith('.rs') && !name.includes('/target/'));
const textOf = (name) => readFileSync(join(crates, name), 'utf8');
const CONSTANT = /^\s*(?:pub(?:\([a-z]+\))? )?const ([A-Z_0-9]+): [^=\n]+= ([^;\n]+);/gm;

/** `file limit value` of every limit in the sources. */
function limitsOfSources() {
  return sources.filter((name) => name.includes('/src/')).flatMap((name) => {
    const isTable = /\/limits\.rs$/.test(name);
    const constants = [...textOf(name).split('#[cfg(test)]')[0].matchAll(CONSTANT)];
    // `Self(5)`: the number of a setting that another one is a limit of.
    return constants.filter(([, limit, value]) => (isTable || limit.startsWith('MAX_')) && !value.startsWith('Self(')).map(([, limit, value]) => `${name.replace('portico-', '')} ${limit} ${value}`);
  });
}

const rows = readFileSync(join(import.meta.dirname, 'LIMITS.md'), 'utf8').split('\n')
  .filter((line) => /^\| [a-z0-9_/-]+\.rs \|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')).slice(1, -1));

test('each limit has its row, and each row its limit', () => {
  const documented = rows.map(([file, limit, value]) => `${file} ${limit} ${value}`);
  const there = limitsOfSources();
  assert.deepEqual(there.filter((limit) => !documented.includes(limit)), [], 'limits without a row');
  assert.deepEqual(documented.filter((limit) => !there.includes(limit)), [], 'rows without a limit');
  assert.equal(documented.length, there.length, 'a row or a limit twice');
});

test('each test that is named is there', () => {
  const tests = new Set(sources.flatMap((name) => [...textOf(name).matchAll(/fn ([a-z_0-9]+)\(/g)].map(([, test]) => test)));
  assert.deepEqual(rows.map(([, , , test]) => test).filter((test) => /^[a-z0-9]+(_[a-z0-9]+)+$/.test(test) && !tests.has(test)), []);
});
