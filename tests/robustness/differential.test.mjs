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
import { assertSame, scenarioLogs } from './lib/scenario-logs.mjs';

const folder = join(import.meta.dirname, 'scenarios');
const scratch = mkdtempSync(join(tmpdir(), 'portico-diff-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

/** So many files run at a time: most of a scenario's time is waiting. */
const FILES_AT_ONCE = 3;

const only = process.env.SCENARIOS; // a part of a file name, while working on one theme
const files = readdirSync(folder).filter((name) => name.endsWith('.cjs') && (!only || name.includes(only)));

for (const { file, node, portico, connections } of await runFiles()) {
  const theme = file.replace('.cjs', '');
  describe(theme.replaceAll('-', ' '), () => {
    test('the scenarios ran', () => assert.ok(node.logs && portico.logs, node.failure ?? portico.failure));
    for (const name of Object.keys(portico.logs ? node.logs : {})) {
      test(name.replaceAll('_', ' '), async (t) => {
        const again = async () => {
          const alone = await bothOf(file, name);
          assert.ok(alone.node.logs && alone.portico.logs, alone.node.failure ?? alone.portico.failure);
          return { node: alone.node.logs[name], portico: alone.portico.logs[name] };
        };
        await assertSame(t, { node: node.logs[name], portico: portico.logs[name] }, { differs: !plain && chosen.has(`${theme}/${name}`), again });
      });
    }
    test('the engine served them', { skip: plain }, () => assert.ok(connections > 0));
  });
}

async function runFiles() {
  const results = [];
  const waiting = [...files.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) results[next[0]] = await bothOf(next[1]);
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, work));
  return results;
}

async function bothOf(file, name) {
  const counters = join(mkdtempSync(join(scratch, 'run-')), 'counters');
  const [node, portico] = await Promise.all([logsOf(file, [], {}, name), logsOf(file, preload, environment(counters), name)]);
  return { file, node, portico, connections: readCounters(counters).connections };
}

async function logsOf(file, flags, env, name) {
  try {
    return await scenarioLogs(join(folder, file), flags, { ...environment('', {}), PORTICO_REQUIRE: '', ...env }, name);
  } catch (error) {
    return { failure: `${file}: ${error.message}\n${error.stderr ?? ''}` };
  }
}
