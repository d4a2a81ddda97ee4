// Rows of the hostile matrix that once differed from node:http, and whose outcome no race of packets decides; a row of
// each behaviour; and an example of each difference that is chosen. `make matrix` runs all rows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain } from '../support/mode.mjs';
import { failNamed } from '../support/named-failure.mjs';
import { EXAMPLES } from './matrix/chosen-differences.mjs';
import { crowdRows, runCrowd } from './matrix/crowd.mjs';
import { DRIVES, nodeProgram, startDrive } from './matrix/drives.mjs';
import { describe, matrix } from './matrix/matrix.mjs';
import { DIMENSIONS, parseRow, spreadRows } from './matrix/rows.mjs';

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

// What one handler leaves of the body and of the connection, embedded and behind a host.
const EVERYWHERE = [
  // The program destroys the socket, and answers before it has closed: nothing is finished.
  'destroyed-then-answered/100/at-once/next/length/fast/watched',
  // The timeout of a request that is there to its last byte, of which its reader does not know yet.
  'request-timeout/200000/at-once/next/trailers/fast/watched',
  // Where a handler threw, only the end of a chunked body is left to be an error of the client.
  'throws-after-head/0/split/idle/trailers/fast/unwatched',
  // What was read with the head is parsed to its end, also when the handler has destroyed the socket.
  'socket-destroy/1/at-once/idle/length/fast/watched',
  'socket-destroy-soon/16383/at-once/next/trailers/fast/watched',
  // It threw behind its answer: the next request is refused.
  'throws-after-end/1/at-once/next/trailers/fast/unwatched',
  // It threw in a tick behind the body's end, which runs within the next part of the same read.
  'throws-in-end/16383/half-close/pipelined-upload/trailers/fast/unwatched',
  // What follows is refused while its client still sends: no reset overtakes the refusal.
  'throws-in-end/1/slow/pipelined-upload/expect/fast/unwatched',
  // What it has answered has long been sent, also where a thread has yet to say so: what follows is refused.
  'throws-after-end/16384/split/pipelined-upload/expect/fast/watched',
  // The client's end comes in the wake of the engine that its request came with, and immediates are to run before it.
  'pipeline-promise-fails/100/half-close/pipelined/chunked/fast/watched',
  // The client ends its side within the body: what it is answered is not lost by a reset.
  'flush-headers/65535/cut/next/http10/fast/unwatched',
  'finished-request/65536/cut/next/length/fast/watched',
  // A body that its reader has left goes on: node:http reads no more, and the client's end costs no answer and adds none.
  'iterator-returned/140000/half-close/next/http10-kept/fast/watched',
  'pipeline-aborted/65535/cut/next/chunked/fast/watched',
  'iterator-left/1500000/cut/next/trailers/fast/watched',
  'iterator-left-answered/140000/cut/next/length/fast/unwatched',
  'iterator-left-kept/1500000/cut/next/length/fast/watched',
  // All of what was sent before the end has been read: the end within the body is an error.
  'iterator-left/16383/cut/next/length/fast/watched',
  // Older versions of Node stop reading at 16 KiB, and have the client's end later.
  'data-after-timer/65535/half-close/next/chunked/fast/watched',
];

const drives = plain ? ['inline'] : DRIVES;
const major = process.versions.node.split('.')[0];
const examples = plain ? [] : EXAMPLES.filter(({ nodes = [major] }) => nodes.includes(major));

/** How often an example is run anew that did not differ. */
const ATTEMPTS = 3;

// All at a time, since most of a row's time is waiting.
const inline = begin(ROWS.map(parseRow), ['inline']);
const everywhere = begin([...EVERYWHERE.map(parseRow), ...spreadRows()], drives);
const differing = new Map(DRIVES.map((drive) => {
  const rows = examples.filter((example) => (example.drive ?? 'inline') === drive).map(({ row }) => parseRow(row));
  return [drive, rows.length === 0 ? undefined : begin(rows, [drive])];
}));

function begin(rows, drives) {
  const running = matrix(rows, { drives });
  running.catch(() => undefined); // told where it is awaited
  return running;
}

/** Fails with a test for each failure. */
async function assertNone(t, { failures, flaky }) {
  for (const difference of flaky) t.diagnostic(`flaky: ${describe(difference)}`);
  for (const failure of failures) await failNamed(t, describe(failure), failure.portico);
}

test('rows of the hostile matrix come to what node:http comes to', async (t) => assertNone(t, await inline));

test('a row of each behaviour comes to what node:http comes to, on every drive', async (t) => {
  assert.deepEqual(spreadRows().map(({ behaviour }) => behaviour).sort(), [...DIMENSIONS.behaviour].sort());
  await assertNone(t, await everywhere);
});

for (const { reason, row, drive = 'inline' } of examples) {
  test(`differs on purpose, since ${reason}`, async (t) => {
    let { failures, flaky, chosen } = await differing.get(drive);
    const isOf = (difference) => difference.row === row;
    await assertNone(t, { failures: failures.filter(isOf), flaky: flaky.filter(isOf) });
    // In company node:http may do at times what Portico does.
    for (let attempt = 0; attempt < ATTEMPTS && !chosen.get(reason)?.some(isOf); attempt++) {
      ({ chosen } = await matrix([parseRow(row)], { drives: [drive] }));
    }
    assert.ok(chosen.get(reason)?.some(isOf), `${drive} ${row} differs no longer`);
  });
}

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
