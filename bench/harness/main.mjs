/** Runs the cells, writes and prints the table. See README.md. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CELLS, selectCells } from './cells.mjs';
import { measureCell } from './measure.mjs';
import { readOptions } from './options.mjs';
import { RESULTS } from './paths.mjs';
import { killEverythingAtExit } from './process.mjs';
import { cellSummary, report } from './report.mjs';
import { findNodes, findServers } from './servers.mjs';
import { describeMachine, loadAverage } from './system.mjs';

/** More than this before the run, and the figures are not worth much. */
const MOST_LOAD = 0.5;
const FEWEST_ROUNDS = 3;
/** Past this multiple of the budget, what has not begun is left out. */
const OVERTIME = 1.3;

function selectServers(options) {
  const all = findServers(findNodes(options.nodes));
  if (!options.servers) return all;
  for (const id of options.servers) {
    if (!all.some((server) => server.id === id)) throw new RangeError(`no server is called ${id}`);
  }
  const chosen = all.filter((server) => options.servers.includes(server.id));
  const bases = new Set(chosen.map((server) => server.base ?? all[0].id));
  return all.filter((server) => chosen.includes(server) || bases.has(server.id));
}

/** Rounds that the time left allows, when the cells to come take as long as the last one did. */
function roundsWithin(options, started, index, cellCount, msPerRound) {
  if (!msPerRound) return options.rounds;
  const left = options.budgetMs - (Date.now() - started);
  const affordable = Math.floor(left / (cellCount - index) / msPerRound);
  return Math.min(options.rounds, Math.max(FEWEST_ROUNDS, affordable));
}

async function run() {
  const options = readOptions();
  const servers = selectServers(options);
  const cells = selectCells(options);
  if (options.list) {
    for (const cell of CELLS) console.log(`${cell.id.padEnd(14)} ${cell.title}`);
    for (const server of servers) console.log(`${server.id.padEnd(14)} ${server.title} ${server.version ?? ''}`);
    return;
  }
  killEverythingAtExit();
  const load = loadAverage();
  if (load > MOST_LOAD) console.log(`Other work is running (load average ${load.toFixed(1)}): expect noise.`);
  const started = Date.now();
  const measured = [];
  let msPerRound = 0;
  const skipped = [];
  for (const [index, cell] of cells.entries()) {
    const begin = Date.now();
    if (begin - started > options.budgetMs * OVERTIME) {
      skipped.push(cell.title);
      continue;
    }
    const rounds = roundsWithin(options, started, index, cells.length, msPerRound);
    const result = await measureCell(cell, servers, { ...options, rounds });
    if (cell.kind === 'closed') msPerRound = (Date.now() - begin) / result.rounds.length;
    measured.push(result);
    console.log(`${cellSummary(result, servers)}\n    ${((Date.now() - begin) / 1000).toFixed(0)} s`);
  }
  const machine = describeMachine(started, options);
  const text = report(measured, servers, { ...machine, skipped, load });
  console.log(`\n${text}`);
  for (const file of [fromCaller(options.out), options.full ? RESULTS : undefined]) if (file) writeFileSync(file, text);
  if (options.json) writeFileSync(fromCaller(options.json), JSON.stringify({ machine, measured }, null, 1));
}

try {
  await run();
} catch (error) {
  console.error(error instanceof RangeError ? error.message : error);
  process.exitCode = 1;
}

/** `run.sh` changes the folder; a file's path is the caller's. */
function fromCaller(file) {
  return file && resolve(process.env.BENCH_CALLER ?? '.', file);
}
