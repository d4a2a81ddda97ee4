// The short form of leak.mjs, which sends a million.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLevel, isLevel } from './leak.mjs';

test('resident memory is level over 200,000 requests', async (t) => {
  const results = await checkLevel(t, 200_000, (line) => t.diagnostic(line));
  assert.ok(isLevel(results), JSON.stringify(results));
});
