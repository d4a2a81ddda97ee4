#!/usr/bin/env node
// Runs the test suite of a framework twice, on plain Node and under Portico, and compares test by test.
//
// Must not: change the suite, or decide what a difference means; known-differences.json of the suite does that.
// README.md in this folder says how to get the suites and what the exit status means.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseOptions, USAGE } from './lib/options.mjs';
import { listFiles } from './lib/suites.mjs';
import { runAll } from './lib/schedule.mjs';
import { readKnownDifferences } from './lib/known-differences.mjs';
import { judge } from './lib/judge.mjs';
import { renderStatus } from './lib/status.mjs';

const here = import.meta.dirname;

async function main() {
  const options = parseOptions(process.argv.slice(2), here);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const { suite } = options;
  const files = listFiles(suite, options.dir, options.filter);
  const scratch = mkdtempSync(join(tmpdir(), 'pfs-'));
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

  console.log(`${suite.name} ${options.version}: ${files.length} files, Node ${options.nodeVersion}, ${options.jobs} at a time`);
  // The plain side also notes whether node:http served anything, which the engine must then do.
  const plain = await runAll(files, { ...options, mode: 'plain', scratch });
  const portico = await runAll(files, { ...options, mode: 'portico', scratch, expected: plain });
  const known = readKnownDifferences(join(here, suite.name, 'known-differences.json'));
  const verdict = judge({ files, plain, portico, known, filtered: options.filter !== null });
  for (const problem of verdict.problems) console.log(`PROBLEM ${problem}`);
  if (options.verbose) for (const { id, message } of verdict.failures) console.log(`\n--- ${id}\n${message}`);
  if (options.filter === null && !options.noStatus) {
    writeFileSync(join(here, suite.name, 'STATUS.md'), renderStatus(verdict, options));
    console.log(`wrote ${suite.name}/STATUS.md`);
  }
  console.log(verdict.summary);
  return verdict.problems.length === 0 ? 0 : 1;
}

process.exitCode = await main();
