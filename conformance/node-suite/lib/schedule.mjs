// Order and concurrency: test/parallel in several slots, the rest one after the other, and a second
// chance, alone, for what failed while the machine was busy.

import { runTest } from './run-test.mjs';

/** Runs `tests`; resolves with a Map from name to result. A result that needed a retry has `retried`. */
export async function runAll(tests, options) {
  const results = new Map();
  const queue = tests.filter((test) => test.parallel);
  const show = progress(options.mode, tests.length);
  const work = async (slot) => {
    for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
      results.set(test.name, await runTest(test, { ...options, slot }));
      show(results.size);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, options.jobs) }, (_, index) => work(index + 1)));
  for (const test of tests.filter((candidate) => !candidate.parallel)) {
    results.set(test.name, await runTest(test, { ...options, slot: 0 }));
    show(results.size);
  }
  await retryFailures(tests, results, options);
  return results;
}

async function retryFailures(tests, results, options) {
  for (let attempt = 0; attempt < options.retries; attempt += 1) {
    for (const test of tests) {
      const { outcome } = results.get(test.name);
      if (outcome === 'pass' || outcome === 'skip') continue;
      const again = await runTest(test, { ...options, slot: 0 });
      if (again.outcome === 'pass') results.set(test.name, { ...again, retried: true });
    }
  }
}

function progress(mode, total) {
  return (count) => {
    if (count % 50 === 0 || count === total) console.log(`  ${mode} ${count}/${total}`);
  };
}
