#!/usr/bin/env node
// The hostile matrix: rows of handler, body, arrival and client, each compared with node:http of the same version.
// `--help` says how it is run.

import { parseArgs } from 'node:util';
import { DRIVES, nodeProgram, startDrive } from './drives.mjs';
import { matrix, memory, plural } from './matrix.mjs';
import { DIMENSIONS, allRows, parseRow, partOf, sampleRows, spreadRows } from './rows.mjs';
import { runRows } from './running.mjs';

const NODES = ['this', '24', '26'];

const HELP = `node tests/robustness/matrix/run.mjs [OPTION]...

Runs rows on node:http and on Portico, and tells which differ. Without options: every row, three Nodes, all drives.

  --sample SEED     rows in which every two values of different dimensions meet (about 1,500)
  --spread          the rows that 'make test' runs: one for each behaviour
  --filter TEXT     rows whose name contains TEXT, or matches /TEXT/; several times: all of them
  --part 2/40       the second of forty parts of the rows, each of which has something of everything
  --node NODE       ${NODES.join(', ')}; several times
  --drive DRIVE     ${DRIVES.join(', ')}; several times
  --seconds N       begins no more rows after so long, and says how many it has not run
  --memory          the rows about memory as well
  --chosen          tells each difference that is chosen, not only how many
  --list            prints the rows' names, and runs nothing
  --row NAME        one row, with what each side did
  --times N         with --row: so often, one after the other
  --help            this

Exit status: 0, nothing differs but what is chosen (flaky rows are told and do not count); 1, something differs; 2, usage.

A row's name is ${Object.keys(DIMENSIONS).join('/')}, of:
${Object.entries(DIMENSIONS).map(([name, known]) => `  ${name}: ${known.join(' ')}`).join('\n')}`;

function usage(why) {
  console.error(`run.mjs: ${why}\nTry --help.`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        node: { type: 'string', multiple: true, default: NODES }, drive: { type: 'string', multiple: true, default: DRIVES },
        sample: { type: 'string' }, spread: { type: 'boolean' }, row: { type: 'string' }, times: { type: 'string', default: '1' },
        filter: { type: 'string', multiple: true, default: [] }, part: { type: 'string' }, seconds: { type: 'string' },
        memory: { type: 'boolean' }, chosen: { type: 'boolean' }, list: { type: 'boolean' }, help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return usage(error.message);
  }
}

function checked(values) {
  for (const node of values.node) if (!NODES.includes(node)) usage(`--node ${node}: one of ${NODES.join(', ')}`);
  for (const drive of values.drive) if (!DRIVES.includes(drive)) usage(`--drive ${drive}: one of ${DRIVES.join(', ')}`);
  for (const name of ['sample', 'seconds', 'times']) {
    if (values[name] !== undefined && !/^\d+$/.test(values[name])) usage(`--${name} ${values[name]}: not a number`);
  }
  const [, part, parts] = /^(\d+)\/(\d+)$/.exec(values.part ?? '1/1') ?? [];
  if (!(part >= 1 && Number(part) <= Number(parts))) usage(`--part ${values.part}: like 1/4`);
  return { ...values, part: Number(part), parts: Number(parts) };
}

function selectedRows({ row, sample, spread, filter, part, parts }) {
  if (row !== undefined) {
    try {
      return [parseRow(row)];
    } catch (error) {
      return usage(`--row: ${error.message}`);
    }
  }
  const all = spread ? spreadRows() : sample === undefined ? [...allRows()] : sampleRows(Number(sample));
  const tests = filter.map((text) => (/^\/.+\/$/.test(text) ? new RegExp(text.slice(1, -1)) : { test: (name) => name.includes(text) }));
  const rows = all.filter(({ name }) => partOf(name, parts) === part - 1 && tests.every((test) => test.test(name)));
  if (rows.length === 0) usage('no row is so');
  return rows;
}

/** Prints what a row comes to on each side: each outcome, and how often it came. */
async function showRow(row, { node: nodes, drive: drives, times }) {
  for (const node of nodes) {
    for (const name of ['stock', ...drives]) {
      const drive = await startDrive(name, nodeProgram(node));
      const counts = new Map();
      for (let round = 0; round < Number(times); round++) {
        const { outcomes, strays } = await runRows([row], drive);
        const text = [...Object.entries(outcomes.get(row.name)[0]).map(([field, value]) => `  ${field}: ${value}`), ...strays].join('\n');
        counts.set(text, (counts.get(text) ?? 0) + 1);
      }
      for (const [text, count] of counts) console.log(`${name === 'stock' ? 'node:http' : name}, Node ${node}, ${count} of ${times}:\n${text}`);
      await drive.stop();
    }
  }
}

async function run(rows, values) {
  if (values.row !== undefined) await showRow(rows[0], values);
  const deadline = values.seconds === undefined ? Infinity : performance.now() + 1000 * Number(values.seconds);
  const total = { failures: 0, flaky: 0, ran: 0, chosen: new Map() };
  for (const node of values.node) {
    const { failures, flaky, chosen, ran } = await matrix(rows, { node, drives: values.drive, log: console.log, deadline });
    total.failures += failures.length;
    total.flaky += flaky.length;
    total.ran += ran;
    for (const [reason, differences] of chosen) total.chosen.set(reason, [...(total.chosen.get(reason) ?? []), ...differences]);
  }
  for (const node of values.memory ? values.node : []) total.failures += await memory({ node, drives: values.drive, log: console.log });
  for (const [reason, differences] of total.chosen) {
    console.log(`chosen, ${plural(differences.length, 'difference')}: ${reason}`);
    if (values.chosen) for (const { drive, row, field, portico, node } of differences) console.log(`  ${drive} ${row}\n    ${field}: ${portico}\n    node:http: ${node}`);
  }
  const wanted = rows.length * values.node.length;
  if (total.ran < wanted) console.log(`not run, time is up: ${plural(wanted - total.ran, 'row')}`);
  console.log(`${plural(total.ran, 'row')} on ${values.drive.join(', ')}: ${plural(total.failures, 'difference')}, ${total.flaky} flaky`);
  return total.failures === 0 ? 0 : 1;
}

const values = checked(options());
if (values.help) {
  console.log(HELP);
} else {
  const rows = selectedRows(values);
  if (values.list) console.log(rows.map(({ name }) => name).join('\n'));
  else {
    process.exitCode = await run(rows, values).catch((error) => usage(`cannot run: ${error.message}`));
  }
}
