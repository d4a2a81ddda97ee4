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

// The host has read the whole request when its process destroys it: node:http has not, and its close is a reset.
const DESTROYED = [
  'request-destroy/65536/at-once/idle/length/fast/watched',
  'request-destroy-error/70000/at-once/idle/length/fast/watched',
  'request-destroy-first-part/70000/at-once/idle/length/fast/watched',
  'response-destroy/70000/at-once/idle/length/fast/watched',
  'socket-destroy/70000/at-once/idle/length/fast/watched',
  // All of it has been read: no reset.
  'request-destroy/16383/at-once/idle/length/fast/watched',
  'socket-destroy/16384/behind/idle/length/fast/watched',
];

test('an exception that is caught ends in the answer that node:http gives', async () => {
  const { failures } = await matrix(THROWN.map(parseRow), { drives: ['hosted'] });
  assert.equal(failures.map((failure) => describe(failure, 'this')).join('\n'), '');
});

test('a request that is destroyed before it has been read ends with a reset, as with node:http', async () => {
  const { failures, chosen } = await matrix(DESTROYED.map(parseRow), { drives: ['hosted'] });
  assert.equal(failures.map((failure) => describe(failure, 'this')).join('\n'), '');
  // Elsewhere what has been read ahead is a reason to differ; here it is none.
  assert.deepEqual([...chosen], []);
});
