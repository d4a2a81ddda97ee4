// One run of BoringSSL's runner.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Runs the tests and gives `{ passed, failed, skipped, reasons }`: a Set of names, a Map from names to what the runner
 * said, the number of tests that asked for something unimplemented, and a Map from reasons to how often.
 */
export async function runSuite({ runner, shim, filter, jobs, errors, scratch }) {
  const config = join(scratch, 'config.json');
  const output = join(scratch, 'results.json');
  const notes = join(scratch, 'unimplemented.txt');
  for (const file of [output, notes]) rmSync(file, { force: true });
  writeFileSync(config, JSON.stringify({ ErrorMap: errors }));
  const args = ['-shim-path', shim, '-shim-config', config, '-json-output', output];
  args.push('-allow-unimplemented', '-pipe', '-num-workers', String(jobs));
  if (filter !== null) args.push('-test', filter);
  const child = spawn(runner, args, {
    cwd: dirname(runner),
    env: { ...process.env, BOGO_UNIMPLEMENTED_FILE: notes },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  showProgress(child.stdout);
  const [code, signal] = await once(child, 'exit');
  if (!existsSync(output)) throw new Error(`the runner left no results (exit ${code ?? signal})`);
  return { ...readResults(output), reasons: readReasons(notes) };
}

function showProgress(stdout) {
  let done = 0;
  createInterface(stdout).on('line', (line) => {
    if (!/^(PASSED|FAILED|UNIMPLEMENTED) /.test(line)) return;
    done += 1;
    if (done % 1000 === 0) console.log(`${done} tests`);
  });
}

function readResults(file) {
  const { tests } = JSON.parse(readFileSync(file, 'utf8'));
  const passed = new Set();
  const failed = new Map();
  let skipped = 0;
  for (const [name, { actual, error }] of Object.entries(tests)) {
    if (actual === 'PASS') passed.add(name);
    else if (actual === 'SKIP') skipped += 1;
    else failed.set(name, error ?? actual);
  }
  return { passed, failed, skipped };
}

function readReasons(file) {
  const reasons = new Map();
  if (!existsSync(file)) return reasons;
  for (const reason of readFileSync(file, 'utf8').split('\n')) {
    if (reason !== '') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return reasons;
}
