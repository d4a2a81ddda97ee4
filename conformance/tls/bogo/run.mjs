#!/usr/bin/env node
// Runs BoringSSL's TLS tests (BoGo) against Portico's server and compares with what is known to differ.
//
// Must not: change the suite, or decide what a difference means; known-differences.json does that.
// README.md in this folder says how to get the suite and what the exit status means.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseOptions, USAGE } from './lib/options.mjs';
import { readKnown } from './lib/known-differences.mjs';
import { runSuite } from './lib/suite.mjs';
import { judge } from './lib/judge.mjs';
import { renderStatus } from './lib/status.mjs';

const here = import.meta.dirname;
/** More failures than this are no accident of a busy machine: they are not tried again. */
const MOST_RETRIED = 40;

async function main() {
  const options = parseOptions(process.argv.slice(2), here);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const known = readKnown(join(here, 'known-differences.json'));
  const scratch = mkdtempSync(join(tmpdir(), 'pbg-'));
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

  const result = await runSuite({ ...options, errors: known.errors, scratch });
  await retry(result, known, options, scratch);
  const verdict = judge(result, known, options.filter !== null);
  for (const problem of verdict.problems) console.log(`PROBLEM ${problem}`);
  if (options.verbose) for (const { name, error } of verdict.unlisted) console.log(`\n--- ${name}\n${error}`);
  if (options.filter === null && !options.noStatus) {
    writeFileSync(join(here, 'STATUS.md'), renderStatus(verdict, known));
    console.log('wrote STATUS.md');
  }
  console.log(verdict.summary);
  return verdict.problems.length === 0 ? 0 : 1;
}

/** Runs what failed and is not listed once more, one test after the other. */
async function retry(result, known, options, scratch) {
  const names = [...result.failed.keys()].filter((name) => known.differenceOf(name) === null);
  if (names.length === 0 || names.length > MOST_RETRIED) return;
  console.log(`${names.length} failed and are not listed: once more`);
  const again = await runSuite({ ...options, filter: names.join(';'), jobs: 1, errors: known.errors, scratch });
  for (const name of again.passed) {
    result.failed.delete(name);
    result.passed.add(name);
  }
}

process.exitCode = await main();
