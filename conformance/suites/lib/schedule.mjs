// Order and concurrency, and a second chance, alone, for files in which something failed.

import { runFile } from './run-file.mjs';

/**
 * Runs `files`; resolves with a Map from file to result. With `expected` (the plain side's results) a file is run again
 * when a test fails that passed there; a test that passes in one of the runs passes.
 */
export async function runAll(files, options) {
  const results = new Map();
  const queue = [...files];
  const work = async (slot) => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      results.set(file, await runFile(file, { ...options, slot }));
      if (results.size % 25 === 0 || results.size === files.length) console.log(`  ${options.mode} ${results.size}/${files.length}`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, options.jobs) }, (_, index) => work(index + 1)));
  for (let attempt = 0; attempt < options.retries; attempt += 1) {
    for (const file of files) {
      if (!hasLosses(results.get(file), options.expected?.get(file))) continue;
      merge(results.get(file), await runFile(file, { ...options, slot: 0 }));
    }
  }
  return results;
}

/** Whether a test fails: that passed on the other side, if there is one. */
function hasLosses({ tests, ended }, expected) {
  if (expected === undefined) return ended !== 'exit' || [...tests.values()].some(({ outcome }) => outcome === 'fail');
  return [...expected.tests].some(([name, { outcome }]) => outcome === 'pass' && tests.get(name)?.outcome !== 'pass');
}

function merge(first, again) {
  for (const [name, result] of again.tests) {
    if (first.tests.get(name)?.outcome !== 'pass') first.tests.set(name, result);
  }
  if (again.ended === 'exit') {
    for (const name of first.tests.keys()) if (name.startsWith('(the file ended')) first.tests.delete(name);
  }
  first.served ||= again.served;
  first.connections += again.connections;
}
