// Bodies behind a host: the same scenarios as for an engine of one's own, with node:http as the oracle.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { environment, testsFolder } from '../support/mode.mjs';
import { startHost } from '../support/start-host.mjs';

const run = promisify(execFile);
const runner = join(testsFolder, 'robustness/lib/run-scenarios.cjs');
const file = join(testsFolder, 'robustness/scenarios/bodies.cjs');

/** What a connection of a host does otherwise, since other processes may share it. */
const differs = new Set(['a_socket_that_stays_paused_is_not_read']);

test('bodies that are read slowly, in part or not at all', async (t) => {
  const host = await startHost(t);
  const hosted = { ...host.env, SCENARIOS_HOSTED_PORT: String(host.port) };
  const [node, portico] = await Promise.all([
    logsOf([], { ...environment('', {}), PORTICO_REQUIRE: '' }),
    logsOf(['--import', 'portico/register'], hosted),
  ]);
  assert.ok(Object.keys(node).length > 0);
  // A host has certificates of its own.
  for (const name of Object.keys(node).filter((each) => !each.includes('over_tls'))) {
    await t.test(name.replaceAll('_', ' '), () => {
      (differs.has(name) ? assert.notDeepEqual : assert.deepEqual)(portico[name], node[name]);
    });
  }
});

async function logsOf(flags, env) {
  const { stdout } = await run(process.execPath, [...flags, runner, file], { cwd: testsFolder, env, timeout: 300_000, maxBuffer: 1 << 26 });
  return JSON.parse(stdout.trimEnd().split('\n').at(-1));
}
