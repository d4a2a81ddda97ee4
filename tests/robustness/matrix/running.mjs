// Runs rows against a drive, many at a time, and gives what each came to.

import { runRow } from './client.mjs';

/** So much is in flight at a time: a row weighs 1, and more for what it moves. */
const CAPACITY = 80;

let lastId = 0;

/**
 * Runs `rows` against `drive`, so much at a time as `capacity` says: with 1, each row is alone, but for those that wait in
 * silence. Resolves with `{ outcomes: Map(name -> observed), strays }`.
 */
export async function runRows(rows, drive, capacity = CAPACITY) {
  const ids = new Map(rows.map((row) => [row.name, String(++lastId).padStart(7, '0')]));
  const outcomes = new Map();
  const ping = () => drive.ping();
  await weighed(rows, capacity, async (row, onQuiet) => {
    outcomes.set(row.name, await runRow(row, ids.get(row.name), drive.endpoint(serverOf(row)), { onQuiet, ping }));
  });
  if (drive.failure) throw new Error(drive.failure);
  const { events, strays } = await drive.events([...ids.values()]);
  for (const { name, watching } of rows) {
    const { request = 'never came', response = 'never came', handler = '' } = events[ids.get(name)] ?? {};
    Object.assign(outcomes.get(name), { handler }, watching === 'watched' && { request, response });
  }
  return { outcomes, strays };
}

function serverOf({ connection, framing, server }) {
  if (server !== undefined) return server;
  if (connection === 'idle') return 'hasty';
  return framing === 'expect-listener' ? 'expectant' : 'patient';
}

async function weighed(rows, capacity, run) {
  const queue = [...rows];
  const running = new Set();
  let load = 0;
  let wake;
  while (queue.length > 0) {
    while (queue.length > 0 && (load === 0 || load + weightOf(queue[0]) <= capacity)) {
      const row = queue.shift();
      let weight = weightOf(row);
      load += weight;
      const release = () => {
        load -= weight;
        weight = 0;
        wake?.();
      };
      const job = run(row, release).finally(() => {
        release();
        running.delete(job);
      });
      running.add(job);
    }
    await new Promise((resolve) => (wake = resolve));
  }
  await Promise.all(running);
}

function weightOf({ size, behaviour }) {
  const answer = behaviour.startsWith('big-10m') ? 40 : behaviour.startsWith('big') || behaviour.startsWith('pieces') || behaviour.startsWith('answer-5m') ? 5 : 0;
  return 1 + Math.floor(size / 100_000) + answer;
}
