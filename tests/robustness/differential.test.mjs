// Each scenario runs on node:http and on Portico, and must leave the same log. No expectation is
// written down by hand: Node is the oracle. (With PORTICO_TEST_PLAIN=1 Node is compared with itself,
// which proves that the scenarios are deterministic.)

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readCounters } from '../support/counters.mjs';
import { environment, plain, preload } from '../support/mode.mjs';
import { chosen } from './chosen-differences.mjs';
import { scenarioLogs } from './lib/scenario-logs.mjs';

const folder = join(import.meta.dirname, 'scenarios');
const scratch = mkdtempSync(join(tmpdir(), 'portico-diff-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

const only = process.env.SCENARIOS; // a part of a file name, while working on one theme

for (const file of readdirSync(folder).filter((name) => name.endsWith('.cjs') && (!only || name.includes(only)))) {
  const theme = file.replace('.cjs', '');
  const counters = join(scratch, theme);
  const [node, portico] = await Promise.all([logsOf(file, [], {}), logsOf(file, preload, environment(counters))]);
  const { connections } = readCounters(counters);
  describe(theme.replaceAll('-', ' '), () => {
    test('the scenarios ran', () => assert.ok(node.logs && portico.logs, node.failure ?? portico.failure));
    for (const name of Object.keys(portico.logs ? node.logs : {})) {
      const compare = !plain && chosen.has(`${theme}/${name}`) ? assert.notDeepEqual : assert.deepEqual;
      test(name.replaceAll('_', ' '), () => compare(portico.logs[name], node.logs[name]));
    }
    test('the engine served them', { skip: plain }, () => assert.ok(connections > 0));
  });
}

async function logsOf(file, flags, env) {
  try {
    return await scenarioLogs(join(folder, file), flags, { ...environment('', {}), PORTICO_REQUIRE: '', ...env });
  } catch (error) {
    return { failure: `${file}: ${error.message}\n${error.stderr ?? ''}` };
  }
}
