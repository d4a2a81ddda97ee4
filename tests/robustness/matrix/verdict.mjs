// Compares what rows came to on a drive with what they come to on node:http of the same version.
//
// node:http itself does not always do the same: where a connection is ended while the client still sends, the order of
// packets decides. So a difference is followed up: both sides run the row again, and what node:http did once is allowed.
// An answer, and whether the row hangs, must never be what node:http does not do; the rest must not differ every time.

import { chosenFor } from './chosen-differences.mjs';
import { runRows } from './running.mjs';

const REPEATS = 6;

/**
 * Judges `rows` on `drive` against `stock`. `newest` starts node:http of the newest Node, asked only about rows that
 * hang. Resolves with failures, `{ row, drive, field, portico, node }`, and what was chosen: Map(name -> rows).
 */
export async function judge(rows, { drive, stock, expected, newest }) {
  const { outcomes, strays } = await runRows(rows, drive);
  const suspects = rows.filter((row) => differences(outcomes.get(row.name), [expected.get(row.name)]).length > 0 || outcomes.get(row.name).end === 'hangs');
  const portico = new Map(suspects.map((row) => [row.name, [outcomes.get(row.name)]]));
  const node = new Map(suspects.map((row) => [row.name, [expected.get(row.name)]]));
  await repeat(suspects, stock, node);
  const open = suspects.filter((row) => differences(outcomes.get(row.name), node.get(row.name)).length > 0);
  await repeat(open, drive, portico);
  const chosen = new Map();
  const failures = strays.map((stack) => ({ row: 'none', drive: drive.name, field: 'exception', portico: stack, node: '' }));
  for (const row of suspects) {
    for (const failure of failuresOf(row, drive.name, portico.get(row.name), node.get(row.name))) {
      const reason = chosenFor(failure, row);
      if (reason === undefined) failures.push(failure);
      else chosen.set(reason, [...(chosen.get(reason) ?? []), row.name]);
    }
  }
  failures.push(...await hangsOfOldNodes(suspects, portico, node, drive, newest));
  return { failures, chosen, outcomes };
}

async function repeat(rows, drive, into) {
  for (let round = 0; rows.length > 0 && round < REPEATS; round++) {
    const { outcomes } = await runRows(rows, drive);
    for (const row of rows) into.get(row.name).push(outcomes.get(row.name));
  }
}

/** The fields in which `outcome` is like none of `known`. */
function differences(outcome, known) {
  return Object.keys(outcome).filter((field) => !known.some((other) => other[field] === outcome[field]));
}

function failuresOf(row, drive, portico, node) {
  const fields = new Set(portico.flatMap((outcome) => differences(outcome, node)));
  return [...fields].flatMap((field) => {
    const values = portico.map((outcome) => outcome[field]);
    const wrong = values.filter((value) => !node.some((other) => other[field] === value));
    const isHard = field.startsWith('answer') || wrong.includes('hangs');
    if (!isHard && wrong.length < values.length) return [];
    return [{ row: row.name, drive, field, portico: wrong[0], node: [...new Set(node.map((other) => other[field]))].join('  or  '), times: `${wrong.length} of ${values.length}` }];
  });
}

/** Rows that hang as on this version's node:http, but not on the newest one's. */
async function hangsOfOldNodes(suspects, portico, node, drive, newest) {
  const hanging = suspects.filter((row) => portico.get(row.name).some(({ end }) => end === 'hangs') && node.get(row.name).some(({ end }) => end === 'hangs'));
  if (hanging.length === 0) return [];
  const { outcomes } = await runRows(hanging, await newest());
  return hanging.filter((row) => outcomes.get(row.name).end !== 'hangs').map((row) => (
    { row: row.name, drive: drive.name, field: 'end', portico: 'hangs', node: `hangs, but ${outcomes.get(row.name).end} on the newest Node` }));
}
