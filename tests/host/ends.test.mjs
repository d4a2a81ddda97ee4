// Connections that a program ends, or fails on, behind a host: rows of the hostile matrix, with node:http as the oracle.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, matrix } from '../robustness/matrix/matrix.mjs';
import { parseRow } from '../robustness/matrix/rows.mjs';

const THROWN = [
  // Node's answer to what comes after an exception: with a listener of the request's events and without, after 100
  // (Continue), and where the client is still sending.
  'throws/1/behind/idle/chunked/fast/watched',
  'throws/100/split/idle/expect/fast/watched',
  'throws/1500000/behind/idle/length/fast/watched',
  'throws-in-data/16383/slow/idle/expect/fast/unwatched',
];

test('an exception that is caught ends in the answer that node:http gives', async () => {
  const { failures } = await matrix(THROWN.map(parseRow), { drives: ['hosted'] });
  assert.equal(failures.map((failure) => describe(failure, 'this')).join('\n'), '');
});
