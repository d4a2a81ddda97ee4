// Failures whose test's name says what came and what was expected, since a summary has no more than names.

import assert from 'node:assert/strict';

/** Fails with a test of its own. */
export const failNamed = (t, name, message = name) => t.test(name, () => assert.fail(message));
