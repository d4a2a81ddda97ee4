// The one list of tests that may fail under Portico, and of tests that the engine need not serve.

import { readFileSync, writeFileSync } from 'node:fs';

const WHYS = new Set(['fix', 'internals', 'chosen']);

/**
 * Reads known-differences.json and checks its form. Returns `{ differences, nodeServes }`, both
 * Maps from a test's folder/name to its entry. Throws an Error that names the entry at fault.
 */
export function readKnownDifferences(file) {
  const content = JSON.parse(readFileSync(file, 'utf8'));
  const differences = byName(content.differences);
  for (const entry of differences.values()) {
    if (!WHYS.has(entry.why)) throw new Error(`${entry.test}: why must be fix, internals or chosen`);
    requireText(entry, 'differs');
    if (entry.why !== 'fix') requireText(entry, 'reason');
  }
  const nodeServes = byName(content.nodeServes);
  for (const entry of nodeServes.values()) requireText(entry, 'reason');
  return { differences, nodeServes };
}

/**
 * Rewrites the file after a run: a failure that is not listed becomes a `fix` with the first line of
 * its error, and what passes now is taken out. Entries of tests that did not run stay.
 */
export function updateKnownDifferences(file, known, portico) {
  const differences = [...known.differences.values()].filter(({ test }) => portico.get(test)?.outcome !== 'pass');
  for (const { name, outcome, output } of portico.values()) {
    if (outcome === 'pass' || known.differences.has(name)) continue;
    const error = output.split('\n').find((line) => /^\w*(Error|Mismatched)\b/.test(line)) ?? '';
    differences.push({ test: name, differs: `${outcome}: ${error}`.trim(), why: 'fix' });
  }
  differences.sort((a, b) => (a.test < b.test ? -1 : 1));
  const content = { differences, nodeServes: [...known.nodeServes.values()] };
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}

function byName(entries) {
  const map = new Map();
  for (const entry of entries) {
    requireText(entry, 'test');
    if (map.has(entry.test)) throw new Error(`${entry.test} is listed twice`);
    map.set(entry.test, entry);
  }
  return map;
}

function requireText(entry, field) {
  if (typeof entry[field] !== 'string' || entry[field] === '') {
    throw new Error(`known-differences.json: ${entry.test ?? 'an entry'} lacks "${field}"`);
  }
}
