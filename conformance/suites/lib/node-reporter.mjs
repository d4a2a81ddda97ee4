// A reporter of node:test: one line of JSON for each test that is no suite of others.

import { inspect } from 'node:util';

export default async function* lines(source) {
  const names = [];
  let parents = new Set();
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      names.length = data.nesting;
      if (data.nesting > 0) parents.add(names.join(' > '));
      names[data.nesting] = data.name;
    } else if (type === 'test:pass' || type === 'test:fail') {
      names.length = data.nesting;
      const name = [...names, data.name].join(' > ');
      const isParent = data.details?.type === 'suite' || parents.has(name);
      if (data.nesting === 0) parents = new Set();
      // A parent fails for its children, or by itself: then its own line counts.
      if (isParent && (type === 'test:pass' || /subtests? failed/.test(data.details?.error?.message ?? ''))) continue;
      const skipped = data.skip !== undefined && data.skip !== false || data.todo !== undefined && data.todo !== false;
      const outcome = skipped ? 'skip' : type === 'test:pass' ? 'pass' : 'fail';
      const message = outcome === 'fail' ? inspect(data.details.error).slice(0, 4000) : undefined;
      yield `${JSON.stringify({ name, outcome, message })}\n`;
    }
  }
}
