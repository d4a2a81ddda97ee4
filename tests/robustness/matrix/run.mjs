#!/usr/bin/env node
// The hostile matrix: rows of handler, body, arrival and client, each compared with node:http of the same version.
//
//   node tests/robustness/matrix/run.mjs                     every row, on three Nodes and all drives (make matrix)
//   node tests/robustness/matrix/run.mjs --sample SEED       rows in which every two values meet
//   node tests/robustness/matrix/run.mjs --row NAME          one row, with what both sides did
//
// and `--node this|24|26`, `--drive inline|threaded|hosted`, `--only PART OF A NAME`, `--part 1/3`, `--memory` (with the
// rows about memory).

import { parseArgs } from 'node:util';
import { REASONS } from './chosen-differences.mjs';
import { DRIVES, nodeProgram, startDrive } from './drives.mjs';
import { matrix, memory, plural } from './matrix.mjs';
import { allRows, parseRow, sampleRows } from './rows.mjs';
import { runRows } from './running.mjs';

const BATCH = 2_000;

const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true, default: ['this', '24', '26'] }, drive: { type: 'string', multiple: true, default: DRIVES },
    sample: { type: 'string' }, row: { type: 'string' }, only: { type: 'string', multiple: true }, part: { type: 'string' }, memory: { type: 'boolean', default: false },
  },
});

function selectedRows() {
  if (values.row !== undefined) return [parseRow(values.row)];
  let rows = values.sample === undefined ? [...allRows()] : sampleRows(Number(values.sample));
  if (values.only !== undefined) rows = rows.filter(({ name }) => values.only.every((part) => name.includes(part)));
  if (values.part === undefined) return rows;
  const [part, parts] = values.part.split('/').map(Number);
  return rows.filter((_, index) => index % parts === part - 1);
}

async function showRow(row, node) {
  for (const name of ['stock', ...values.drive]) {
    const drive = await startDrive(name, nodeProgram(node));
    const { outcomes, strays } = await runRows([row], drive);
    console.log(`\n${name}, Node ${node}:`, outcomes.get(row.name), ...strays);
    await drive.stop();
  }
}

const rows = selectedRows();
const chosen = new Map();
let failed = 0;
for (const node of values.node) {
  if (values.row !== undefined) await showRow(rows[0], node);
  for (let from = 0; from < rows.length; from += BATCH) {
    const result = await matrix(rows.slice(from, from + BATCH), { node, drives: values.drive, log: console.log });
    failed += result.failures.length;
    for (const [reason, names] of result.chosen) chosen.set(reason, (chosen.get(reason) ?? 0) + names.length);
  }
}
for (const node of values.memory ? values.node : []) failed += await memory({ node, drives: values.drive, log: console.log });
for (const [reason, count] of chosen) console.log(`chosen, ${plural(count, 'difference')}: ${reason}`);
const unused = values.row || values.only || values.part || values.sample || values.drive.length < DRIVES.length ? [] : REASONS.filter((reason) => !chosen.has(reason));
for (const reason of unused) console.log(`chosen, but no row differs so: ${reason}`);
console.log(failed === 0 ? `${plural(rows.length, 'row')} on ${plural(values.node.length, 'Node')}: as node:http` : plural(failed, 'difference'));
process.exit(failed === 0 && unused.length === 0 ? 0 : 1);
