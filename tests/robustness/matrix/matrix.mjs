// Rows on all drives of one Node version.

import { DRIVES, nodeProgram, startDrive } from './drives.mjs';
import { MEMORY_ROWS, excess, inMiB, measure } from './memory-rows.mjs';
import { Oracle } from './oracle.mjs';
import { parseRow } from './rows.mjs';
import { runRows } from './running.mjs';
import { Judge, judgeRows } from './verdict.mjs';

/** So many rows are run on node:http and on each drive before what differs is run again. */
const BATCH = 500;
/** Runs before all others: a process whose code has not been compiled yet takes long, and packets meet it in another order. */
const WARM_UP = parseRow('response-destroy-half/70000/at-once/next/length/fast/watched');
const WARM_UP_TIMES = 10;

/**
 * Runs `rows`; resolves with `{ failures, flaky, chosen, ran }` of all drives: `chosen` by reason, and `ran` rows, fewer than
 * there are where `deadline` (of performance.now) has passed. What differs is logged with the command that runs its row again.
 */
export async function matrix(rows, { node = 'this', drives = DRIVES, log = () => undefined, deadline = Infinity }) {
  const program = nodeProgram(node);
  const started = [];
  const start = async (name, of) => {
    const drive = await startDrive(name, of);
    started.push(drive);
    await runRows([WARM_UP], drive, { capacity: 1, times: WARM_UP_TIMES });
    return drive;
  };
  let newestDrive;
  const newest = nodeProgram('26') === program ? undefined : () => (newestDrive ??= start('stock', nodeProgram('26')));
  try {
    const oracle = new Oracle({ stock: await start('stock', program), newest });
    const judges = new Map();
    for (const name of drives) judges.set(name, new Judge(await start(name, program), oracle));
    const ran = await runBatches(rows, { oracle, judges, deadline, log, node });
    return { ...summed(judges), ran };
  } finally {
    for (const drive of started) await drive.stop();
  }
}

async function runBatches(rows, { oracle, judges, deadline, log, node }) {
  for (let from = 0; from < rows.length; from += BATCH) {
    if (performance.now() > deadline) return from;
    const batch = rows.slice(from, from + BATCH);
    const began = performance.now();
    const before = new Map([...judges].map(([name, { failures, flaky }]) => [name, [failures.length, flaky.length]]));
    await judgeRows(batch, [...judges.values()], oracle);
    log(`Node ${node}: rows ${from + 1} to ${from + batch.length} of ${rows.length}, ${seconds(began)}`);
    for (const [name, judge] of judges) logFound(name, judge, before.get(name), { log, node });
  }
  return rows.length;
}

function logFound(name, judge, [failures, flaky], { log, node }) {
  const found = judge.failures.slice(failures);
  const unsteady = judge.flaky.slice(flaky);
  log(`Node ${node}, ${name}: ${plural(found.length, 'difference')}, ${unsteady.length} flaky`);
  for (const failure of found) log(`  ${describe(failure)}\n    ${failure.field === 'exception' ? failure.portico : command(failure, node)}`);
  for (const difference of unsteady) log(`  flaky: ${describe(difference)}\n    ${command(difference, node)}`);
}

function summed(judges) {
  const all = { failures: [], flaky: [], chosen: new Map() };
  for (const { failures, flaky, chosen } of judges.values()) {
    all.failures.push(...failures);
    all.flaky.push(...flaky);
    for (const [reason, differences] of chosen) all.chosen.set(reason, [...(all.chosen.get(reason) ?? []), ...differences]);
  }
  return all;
}

/** Runs the rows about memory, each in processes of its own; resolves with the number of those that take too much. */
export async function memory({ node = 'this', drives = DRIVES, log = () => undefined, rows = MEMORY_ROWS }) {
  let failures = 0;
  for (const row of rows) {
    const stock = await measureOn('stock', row, node);
    for (const name of drives) {
      const measured = await measureOn(name, row, node);
      const wrong = excess(measured, stock);
      if (wrong !== undefined) failures++;
      log(`Node ${node}, ${name}, ${row.name}: ${wrong ?? `${inMiB(measured.peak)}, node:http ${inMiB(stock.peak)}`}`);
    }
  }
  return failures;
}

async function measureOn(name, row, node) {
  const drive = await startDrive(name, nodeProgram(node));
  try {
    return await measure(row, drive);
  } finally {
    await drive.stop();
  }
}

/** A difference in one line. */
export function describe({ row, drive, field, portico, node, times }) {
  return `${drive} ${row}: ${field}: ${portico.split('\n', 1)[0] || 'nothing'}${times && ` (${times})`}, node:http: ${node || 'nothing'}`;
}

/** The command that runs its row again. */
const command = ({ row, drive }, node) => `node tests/robustness/matrix/run.mjs --node ${node} --drive ${drive} --row ${row}`;

/** A number with its noun. */
export const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
