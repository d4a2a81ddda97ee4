// Rows of the hostile matrix that once differed from node:http, and whose outcome no race of packets decides. `make
// matrix` runs all rows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain } from '../support/mode.mjs';
import { crowdRows, runCrowd } from './matrix/crowd.mjs';
import { DRIVES, nodeProgram, startDrive } from './matrix/drives.mjs';
import { describe, matrix } from './matrix/matrix.mjs';
import { parseRow } from './matrix/rows.mjs';

const ROWS = [
  // An exception in a tick that a part of a body lets run is one of that part, whichever request the tick is of.
  'throws-in-end/100/split/pipelined-upload/chunked/fast/unwatched',
  'throws-in-data/16383/half-close/next/length/fast/watched',
  // The client's end comes while a body is being read, or while so much waits that node:http has stopped reading.
  'set-encoding-pause/65536/half-close/next/length/fast/watched',
  'pause-each/70000/half-close/next/length/fast/watched',
  'queued-pipe/16383/half-close/pipelined/chunked/fast/unwatched',
  'queued-big/65536/half-close/pipelined/length/fast/watched',
];

// What a reader that stops leaves of a body of less than 64 KiB does not keep the next request from being read, as on the
// newest Node; on Node 20 node:http hangs.
if (!plain) {
  ROWS.push('iterator-left-kept/65535/behind/pipelined-upload/chunked/fast/unwatched', 'iterator-left-kept/70000/half-close/next/chunked/fast/unwatched');
}

test('rows of the hostile matrix come to what node:http comes to', async () => {
  const { failures } = await matrix(ROWS.map(parseRow), { drives: ['inline'] });
  assert.equal(failures.map((failure) => describe(failure, 'this')).join('\n'), '');
});

// node:http hangs where a body that was begun is left, if it is large.
for (const name of plain ? [] : DRIVES) {
  test(`no body that is left hangs its connection, many at once, ${name}`, async () => {
    const drive = await startDrive(name, nodeProgram('this'));
    try {
      assert.equal((await runCrowd(crowdRows(), drive)).join('\n'), '');
    } finally {
      await drive.stop();
    }
  });
}
