// Bodies behind a host: the same scenarios as for an engine of one's own, with node:http as the oracle.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertSame, scenarioLogs } from '../robustness/lib/scenario-logs.mjs';
import { environment, testsFolder } from '../support/mode.mjs';
import { startHost } from '../support/start-host.mjs';

/** What a connection of a host does otherwise, since other processes may share it. */
const differs = new Set(['a_socket_that_stays_paused_is_not_read', 'behind_an_unanswered_request']);

for (const [file, title] of [
  ['bodies.cjs', 'bodies that are read slowly, in part or not at all'],
  ['upgrade-bodies.cjs', 'bodies of requests that become another protocol'],
]) test(title, (t) => compare(t, join(testsFolder, 'robustness/scenarios', file)));

async function compare(t, file) {
  const host = await startHost(t);
  const hosted = { ...host.env, SCENARIOS_HOSTED_PORT: String(host.port) };
  const run = async (name) => {
    const [{ logs: node }, { logs: portico }] = await Promise.all([
      scenarioLogs(file, [], { ...environment('', {}), PORTICO_REQUIRE: '' }, name),
      scenarioLogs(file, ['--import', 'portico/register'], hosted, name),
    ]);
    return { node, portico };
  };
  const { node, portico } = await run();
  assert.ok(Object.keys(node).length > 0);
  // A host has certificates of its own.
  for (const name of Object.keys(node).filter((each) => !each.includes('over_tls'))) {
    const of = (logs) => ({ node: logs.node[name], portico: logs.portico[name] });
    await t.test(name.replaceAll('_', ' '), (test) => assertSame(test, of({ node, portico }), { differs: differs.has(name), again: async () => of(await run(name)) }));
  }
}
