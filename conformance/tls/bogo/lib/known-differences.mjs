// The one list of what may fail, of what is not there, and of how errors are called.

import { readFileSync } from 'node:fs';

const WHYS = new Set(['fix', 'chosen', 'missing', 'boringssl']);

/**
 * Reads known-differences.json and checks its form. Gives `{ suite, differences, unimplemented, errors }`, each entry of
 * the lists with `matches(name)`, and `differenceOf(test)`, the entry for a test, or null. Throws an Error that names the
 * entry at fault.
 */
export function readKnown(file) {
  const { suite, differences, unimplemented, errors } = JSON.parse(readFileSync(file, 'utf8'));
  for (const entry of differences) {
    const name = entry.tests[0];
    if (!WHYS.has(entry.why)) throw new Error(`${name}: why must be one of ${[...WHYS].join(', ')}`);
    if (!entry.differs || !entry.reason) throw new Error(`${name}: differs and reason must say something`);
    entry.globs = entry.tests.map((glob) => ({ glob, expression: toExpression(glob) }));
  }
  for (const entry of unimplemented) {
    if (!entry.reason) throw new Error(`${entry.asks[0]}: reason must say something`);
    entry.expressions = entry.asks.map(toExpression);
  }
  const differenceOf = (name) =>
    differences.find(({ globs }) => globs.some(({ expression }) => expression.test(name))) ?? null;
  return { suite, differences, unimplemented, errors, differenceOf };
}

/** `*` stands for any characters. */
function toExpression(glob) {
  const parts = glob.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}
