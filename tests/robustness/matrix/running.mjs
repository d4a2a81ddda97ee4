// Runs rows against a drive, many at a time, and gives what each came to.

import { runRow } from './client.mjs';

/** So much is in flight at a time, on all drives: a row weighs 1, and more for what it moves. */
export const CAPACITY = 80;

let lastId = 0;

/**
 * Runs `rows` against `drive`, each `times` times, so much at a time as `capacity` says: with 1, each is alone, but for those that
 * wait in silence. Resolves with `{ outcomes: Map(name -> list of observed), strays }`.
 */
export async function runRows(rows, drive, { capacity = CAPACITY, times = 1 } = {}) {
  const runs = Array.from({ length: times }, () => rows.map((row) => ({ row, id: String(++lastId).padStart(7, '0') }))).flat();
  const outcomes = new Map(rows.map(({ name }) => [name, []]));
  const ping = () => drive.ping();
  await weighed(runs, capacity, async (run, onQuiet) => {
    run.observed = await runRow(run.row, run.id, drive.endpoint(serverOf(run.row)), { onQuiet, ping });
  });
  if (drive.failure) throw new Error(drive.failure);
  const { events, strays } = await drive.events(runs.map(({ id }) => id));
  for (const { row: { name, watching }, id, observed } of runs) {
    const { request = 'never came', response = 'never came', handler = '' } = events[id] ?? {};
    outcomes.get(name).push({ ...observed, handler, ...(watching === 'watched' && { request, response }) });
  }
  return { outcomes, strays };
}

function serverOf({ connection, framing, server }) {
  if (server !== undefined) return server;
  if (connection === 'idle') return 'hasty';
  return framing === 'expect-listener' ? 'expectant' : 'patient';
}

async function weighed(runs, capacity, start) {
  const queue = [...runs];
  const running = new Set();
  let load = 0;
  let wake;
  while (queue.length > 0) {
    while (queue.length > 0 && (load === 0 || load + weightOf(queue[0].row) <= capacity)) {
      const run = queue.shift();
      let weight = weightOf(run.row);
      load += weight;
      const release = () => {
        load -= weight;
        weight = 0;
        wake?.();
      };
      const job = start(run, release).finally(() => {
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
