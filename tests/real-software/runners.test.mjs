// Test runners with supertest: suites of applications pass under Portico, in the runner's own module registry. (Runners end
// their processes without 'exit', so the suite itself looks whether the engine serves.)

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { environment, preload, testsFolder } from '../support/mode.mjs';

const run = promisify(execFile);
const folder = join(import.meta.dirname, 'runners');
const TESTS = 7;

const RUNNERS = {
  jest: { script: 'node_modules/jest/bin/jest.js', args: ['--runInBand', '--config', 'jest.config.cjs'], passed: `Tests:       ${TESTS} passed, ${TESTS} total` },
  'jest with workers': { script: 'node_modules/jest/bin/jest.js', args: ['--maxWorkers=2', '--config', 'jest.config.cjs'], passed: `Tests:       ${TESTS} passed, ${TESTS} total` },
  'vitest in processes': { script: 'node_modules/vitest/vitest.mjs', args: ['run', '--config', 'vitest.config.mjs'], env: { POOL: 'forks' }, passed: `Tests  ${TESTS} passed (${TESTS})` },
  'vitest in threads': { script: 'node_modules/vitest/vitest.mjs', args: ['run', '--config', 'vitest.config.mjs'], env: { POOL: 'threads' }, passed: `Tests  ${TESTS} passed (${TESTS})` },
};

for (const [name, { script, args, env = {}, passed }] of Object.entries(RUNNERS)) {
  test(name, async (t) => {
    const scratch = mkdtempSync(join(tmpdir(), 'portico-runner-'));
    t.after(() => rmSync(scratch, { recursive: true, force: true }));
    // NODE_OPTIONS reaches the runner's own processes.
    const { stdout, stderr } = await run(process.execPath, [join(testsFolder, script), ...args], {
      cwd: folder,
      env: { ...environment(join(scratch, 'counters'), { CI: 'true', NO_COLOR: '1', CACHE_FOLDER: join(scratch, 'cache'), ...env }), NODE_OPTIONS: preload.join(' ') },
    });
    assert.ok((stdout + stderr).includes(passed), stdout + stderr);
  });
}
