// Finds the tests and reads the flags and environment that each asks for in its comments.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// Only test/parallel promises that its tests may run side by side.
const FOLDERS = [
  { folder: 'parallel', pattern: /^test-http[s2]?-.*\.m?js$/, parallel: true },
  { folder: 'sequential', pattern: /^test-http[s2]?-.*\.m?js$/, parallel: false },
  { folder: 'async-hooks', pattern: /^test-.*http(?!2).*\.m?js$/, parallel: false },
  { folder: 'pummel', pattern: /^test-http[s2]?-.*\.m?js$/, parallel: false },
];

/** All tests of the suite in a fixed order: `{ name, file, flags, env, parallel }`. */
export function listTests(suite, filter) {
  const tests = [];
  for (const { folder, pattern, parallel } of FOLDERS) {
    const path = join(suite, folder);
    if (!existsSync(path)) continue;
    for (const entry of readdirSync(path).sort()) {
      const name = `${folder}/${entry}`;
      if (!pattern.test(entry) || (filter !== null && !filter.test(name))) continue;
      const file = join(path, entry);
      tests.push({ name, file, parallel, ...readMetadata(file) });
    }
  }
  return tests;
}

function readMetadata(file) {
  const head = readFileSync(file, 'utf8').slice(0, 4096);
  const words = (pattern) => pattern.exec(head)?.[1].trim().split(/\s+/) ?? [];
  const flags = words(/^\/\/ Flags:(.*)$/m);
  const env = Object.fromEntries(words(/^\/\/ Env:(.*)$/m).map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
  return { flags, env };
}
