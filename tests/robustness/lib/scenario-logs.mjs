// Runs the scenarios of a file in a process of their own.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testsFolder } from '../../support/mode.mjs';

const run = promisify(execFile);
const RUNNER = join(import.meta.dirname, 'run-scenarios.cjs');
const LIMIT_MS = 300_000;

/** What the scenarios logged, `{ logs: { scenario: { actor: [line] } }, stderr }`. `flags` are Node's. */
export async function scenarioLogs(file, flags, env) {
  const { stdout, stderr } = await run(process.execPath, [...flags, RUNNER, file], { cwd: testsFolder, env, timeout: LIMIT_MS, maxBuffer: 1 << 26 });
  return { logs: JSON.parse(stdout.trimEnd().split('\n').at(-1)), stderr };
}
