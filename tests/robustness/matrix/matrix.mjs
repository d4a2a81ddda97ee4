// Rows on all drives of one Node version.

import { DRIVES, nodeProgram, startDrive } from './drives.mjs';
import { MEMORY_ROWS, excess, inMiB, measure } from './memory-rows.mjs';
import { runRows } from './running.mjs';
import { judge } from './verdict.mjs';

/** Runs `rows`; resolves with `{ failures, chosen }` of all drives. Failures are logged with the command that reruns them. */
export async function matrix(rows, { node = 'this', drives = DRIVES, log = () => undefined }) {
  const program = nodeProgram(node);
  const stock = await startDrive('stock', program);
  let newestDrive;
  const newest = async () => (newestDrive ??= await startDrive('stock', nodeProgram('26')));
  const all = { failures: [], chosen: new Map() };
  try {
    const started = performance.now();
    const { outcomes: expected } = await runRows(rows, stock);
    log(`Node ${node}: ${plural(rows.length, 'row')} on node:http, ${seconds(started)}`);
    for (const name of drives) {
      const began = performance.now();
      const drive = await startDrive(name, program);
      try {
        const { failures, chosen } = await judge(rows, { drive, stock, expected, newest });
        all.failures.push(...failures);
        for (const [reason, names] of chosen) all.chosen.set(reason, [...(all.chosen.get(reason) ?? []), ...names]);
        log(`Node ${node}, ${name}: ${plural(failures.length, 'difference')}, ${seconds(began)}`);
        for (const failure of failures) log(describe(failure, node));
      } finally {
        await drive.stop();
      }
    }
  } finally {
    await stock.stop();
    await newestDrive?.stop();
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

/** A failure in words, with the command that runs its row again. */
export function describe({ row, drive, field, portico, node: expected, times = '' }, node) {
  return `  ${field}: ${portico} ${times && `(${times} times)`}\n    node:http: ${expected}\n    node tests/robustness/matrix/run.mjs --node ${node} --drive ${drive} --row ${row}`;
}

/** A number with its noun. */
export const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
