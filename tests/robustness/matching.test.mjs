// Every answer belongs to its request: a mix of requests, clients that leave, slow readers and tunnels, on each drive;
// behind a host, processes are killed and replaced meanwhile. `make matching` does it for ten minutes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain } from '../support/mode.mjs';
import { SCENES } from './matching/scenes.mjs';

const MS = 6_000;
const SEED = Number(process.env.MATCHING_SEED ?? 1);

for (const name of plain ? ['stock'] : ['inline', 'threaded', 'hosted']) {
  test(`each answer is its request’s, ${name}`, async (t) => {
    const ledger = await SCENES[name]({ ms: MS, seed: SEED });
    t.diagnostic(`${ledger.answers} answers, seed ${SEED}; with a process that died: ${ledger.explained}`);
    assert.deepEqual(ledger.faults.slice(0, 10), []);
    assert.ok(ledger.answers > 500, `only ${ledger.answers} answers`);
  });
}
