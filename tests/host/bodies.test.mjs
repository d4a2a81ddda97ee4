// Bodies, and clients that leave, behind a host: the same scenarios as for an engine of one's own, with node:http as the oracle.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertSame, scenarioLogs } from '../robustness/lib/scenario-logs.mjs';
import { environment, testsFolder } from '../support/mode.mjs';
import { startHost } from '../support/start-host.mjs';

/** What a connection of a host does otherwise, since other processes may share it. */
const DIFFERS = [
  /^a_socket_that_stays_paused_is_not_read$/,
  /^behind_an_unanswered_request$/,
  // A process learns of a connection with the first request that it gets.
  /^(reset|end)_(before_a_request|in_the_middle_of_a_head)_(all_listeners|no_listener_of_client_errors)$/,
  /^(reset_before_a_request|reset_in_the_middle_of_a_head|end_in_the_middle_of_a_head)_only_client_errors$/,
  // Nor has one a request that is none: the host refuses it.
  /^end_in_the_middle_of_the_second_head_(all_listeners|no_listener_of_client_errors|the_handler_and_its_sockets|only_the_sockets_of_requests|only_client_errors)$/,
];
const differs = (name) => DIFFERS.some((pattern) => pattern.test(name));

for (const [file, title] of [
  ['bodies.cjs', 'bodies that are read slowly, in part or not at all'],
  ['upgrade-bodies.cjs', 'bodies of requests that become another protocol'],
  ['client-leaves.cjs', 'clients that leave'],
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
    await t.test(name.replaceAll('_', ' '), (test) => assertSame(test, of({ node, portico }), { differs: differs(name), again: async () => of(await run(name)) }));
  }
}
