// A suite's list of tests that may fail under Portico, and of files that the engine need not serve.

import { existsSync, readFileSync } from 'node:fs';

const WHYS = new Set(['fix', 'internals', 'chosen']);

/**
 * Reads a known-differences.json and checks its form. Returns `{ differences, nodeServes }`, Maps from `file: test` and
 * from a file to its entry. Throws an Error that names the entry at fault.
 */
export function readKnownDifferences(file) {
  const content = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { differences: [], nodeServes: [] };
  const differences = keyed(content.differences, 'test');
  for (const entry of differences.values()) {
    if (!WHYS.has(entry.why)) throw new Error(`${entry.test}: why must be fix, internals or chosen`);
    requireText(entry, 'differs');
    if (entry.why !== 'fix') requireText(entry, 'reason');
  }
  const nodeServes = keyed(content.nodeServes, 'file');
  for (const entry of nodeServes.values()) requireText(entry, 'reason');
  return { differences, nodeServes };
}

function keyed(entries, key) {
  const map = new Map();
  for (const entry of entries) {
    requireText(entry, key);
    if (map.has(entry[key])) throw new Error(`${entry[key]} is listed twice`);
    map.set(entry[key], entry);
  }
  return map;
}

function requireText(entry, field) {
  if (typeof entry[field] !== 'string' || entry[field] === '') {
    throw new Error(`known-differences.json: ${entry.test ?? entry.file ?? 'an entry'} lacks "${field}"`);
  }
}
