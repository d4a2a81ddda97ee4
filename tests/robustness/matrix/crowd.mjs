// Bodies that their handlers leave, many connections at once: none may hang.
//
// Not compared with node:http, which hangs or does not as the parts of a body happen to come: in each of these rows
// no reader is left, so that there is nothing to wait for.

import { runRow } from './client.mjs';
import { parseRow } from './rows.mjs';

const BEHAVIOURS = [
  'unread-immediate-413', 'unread-timer-401', 'half-read-pause', 'half-read-data-off', 'half-read-readable', 'half-read-readable-at-once',
  'paused', 'paused-listener', 'paused-listener-immediate', 'read-nothing', 'resumed-paused', 'unpiped', 'unpiped-resumed', 'unpiped-at-once',
  'unpiped-by-listener', 'pipe-destroyed', 'iterator-left-kept', 'set-encoding-unread', 'listens-to-end', 'touches-socket',
  'answered-then-read', 'answered-then-flows', 'resume',
];
const SIZES = [140_000, 300_000, 1_000_000];
const ARRIVALS = ['at-once', 'split', 'slow'];
const CONNECTIONS = ['next', 'pipelined'];
/** So many connections of each row at once, and so many rows. */
const COPIES = 10;
const ROWS_AT_ONCE = 4;

/** One row of each behaviour and size; how the body arrives and what comes behind it takes turns. */
export function crowdRows() {
  return BEHAVIOURS.flatMap((behaviour, index) => SIZES.map((size, place) => {
    const arrival = ARRIVALS[(index + place) % ARRIVALS.length];
    const connection = CONNECTIONS[((index >> 1) + place) % CONNECTIONS.length];
    return parseRow([behaviour, size, arrival, connection, 'length', 'fast', 'unwatched'].join('/'));
  }));
}

let lastId = 0;

/** Runs `rows` on a drive, each on many connections. Resolves with those that hang, in words. */
export async function runCrowd(rows, drive) {
  const waiting = [...rows];
  const wrong = [];
  const work = async () => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      const copies = Array.from({ length: COPIES }, () => `c${String(++lastId).padStart(6, '0')}`);
      const wait = { onQuiet: () => undefined, ping: () => drive.ping() };
      const outcomes = await Promise.all(copies.map((id) => runRow(row, id, drive.endpoint('patient'), wait)));
      const hanging = outcomes.filter(({ end }) => end === 'hangs').length;
      if (hanging > 0) wrong.push(`${drive.name}: ${hanging} of ${COPIES} hang: ${row.name}`);
    }
  };
  await Promise.all(Array.from({ length: ROWS_AT_ONCE }, work));
  if (drive.failure) throw new Error(drive.failure);
  return wrong;
}
