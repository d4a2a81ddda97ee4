// Runs the scenarios of a file in a process of their own, and compares what two sides logged.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { failNamed } from '../../support/named-failure.mjs';
import { testsFolder } from '../../support/mode.mjs';

const run = promisify(execFile);
const RUNNER = join(import.meta.dirname, 'run-scenarios.cjs');
const LIMIT_MS = 300_000;
/** How often a scenario runs in all whose sides don't agree. */
const ATTEMPTS = 5;
const SHOWN_CHARACTERS = 300;

/**
 * What the scenarios logged, `{ logs: { scenario: { actor: [line] } }, stderr }`. `flags` are Node's; with `only`, one scenario
 * runs.
 */
export async function scenarioLogs(file, flags, env, only) {
  const named = only === undefined ? [] : [only];
  const { stdout, stderr } = await run(process.execPath, [...flags, RUNNER, file, ...named], { cwd: testsFolder, env, timeout: LIMIT_MS, maxBuffer: 1 << 26 });
  return { logs: JSON.parse(stdout.trimEnd().split('\n').at(-1)), stderr };
}

/**
 * Passes if both sides logged the same of a scenario, or, if it `differs` on purpose, if they did not. On a busy machine
 * timers and packets decide what comes first, on node:http as well: so `again`, which runs the scenario alone on both sides,
 * is called a few times, and what either side did once counts.
 */
export async function assertSame(t, { node, portico }, { differs = false, again }) {
  const seen = { node: [node], portico: [portico] };
  const settled = () => (differs
    ? seen.node.some((log, index) => !isDeepStrictEqual(log, seen.portico[index]))
    : seen.node.some((log) => seen.portico.some((other) => isDeepStrictEqual(log, other))));
  while (!settled() && seen.node.length < ATTEMPTS) {
    const logs = await again();
    seen.node.push(logs.node);
    seen.portico.push(logs.portico);
  }
  if (!settled()) await failNamed(t, differs ? 'differs on purpose, but does no longer' : firstDifference(seen.portico.at(-1), seen.node.at(-1)));
  if (seen.node.length > 1) t.diagnostic(`flaky: ${seen.node.length} attempts; the first: ${firstDifference(portico, node)}`);
}

function firstDifference(portico, node) {
  for (const actor of new Set([...Object.keys(node), ...Object.keys(portico)])) {
    const [expected = [], got = []] = [node[actor], portico[actor]];
    const index = Array.from({ length: Math.max(expected.length, got.length) }).findIndex((_, each) => expected[each] !== got[each]);
    if (index >= 0) return `${actor}, line ${index + 1}: ${shown(got[index])}, node:http: ${shown(expected[index])}`;
  }
  return 'nothing differs';
}

const shown = (line) => (line === undefined ? 'nothing' : JSON.stringify(line).slice(0, SHOWN_CHARACTERS));
