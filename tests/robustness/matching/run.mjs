#!/usr/bin/env node
// The matching load test for as long as wanted: `node tests/robustness/matching/run.mjs [--seconds 600] [--seed 1]
// [--scene stock|inline|threaded|hosted]...` (make matching SECONDS=600). The seconds are shared by the scenes.

import { parseArgs } from 'node:util';
import { SCENES } from './scenes.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' }, seed: { type: 'string', default: '1' },
    scene: { type: 'string', multiple: true, default: ['inline', 'threaded', 'hosted'] },
  },
});

let faults = 0;
for (const name of values.scene) {
  const ledger = await SCENES[name]({ ms: (Number(values.seconds) * 1000) / values.scene.length, seed: Number(values.seed) });
  const statuses = [...ledger.statuses].map(([status, count]) => `${status}: ${count}`).join(', ');
  console.log(`${name}: ${ledger.answers} answers matched (${statuses}); lost with a process: ${ledger.explained}; faults: ${ledger.faults.length}`);
  for (const fault of ledger.faults.slice(0, 20)) console.log(`  ${fault}`);
  faults += ledger.faults.length;
}
process.exit(faults === 0 ? 0 : 1);
