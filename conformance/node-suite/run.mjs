#!/usr/bin/env node
// Runs the HTTP tests of Node's own suite twice, on plain Node and under Portico, and compares.
//
// Must not: change the suite, or decide what a difference means; known-differences.json does that.
// README.md in this folder says how to get the suite and what the exit status means.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseOptions, USAGE } from './lib/options.mjs';
import { listTests } from './lib/list-tests.mjs';
import { runAll } from './lib/schedule.mjs';
import { PlainCache } from './lib/plain-cache.mjs';
import { readKnownDifferences, updateKnownDifferences } from './lib/known-differences.mjs';
import { judge } from './lib/judge.mjs';
import { renderStatus } from './lib/status.mjs';

const here = import.meta.dirname;

async function main() {
  const options = parseOptions(process.argv.slice(2), here);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const tests = listTests(options.suite, options.filter);
  const scratch = mkdtempSync(join(tmpdir(), 'pns-')); // short: tests put Unix sockets below it
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const cache = new PlainCache(options.plainCache, options.nodeVersion);

  console.log(`${tests.length} tests, Node ${options.nodeVersion}, ${options.jobs} at a time`);
  const plain = await runPlain(tests, cache, options, scratch);
  report('plain', plain);
  if (options.plainOnly) {
    cache.save();
    return 0;
  }
  const candidates = tests.filter((test) => plain.get(test.name).outcome === 'pass');
  const served = await probeServers(candidates, cache, options, scratch);
  cache.save();
  const portico = await runAll(candidates, { ...options, mode: 'portico', scratch });
  report('portico', portico);

  const knownFile = join(here, 'known-differences.json');
  if (options.addUnlisted) updateKnownDifferences(knownFile, readKnownDifferences(knownFile), portico);
  const known = readKnownDifferences(knownFile);
  const verdict = judge({ tests, plain, served, portico, known, filtered: options.filter !== null });
  for (const problem of verdict.problems) console.log(`PROBLEM ${problem}`);
  for (const failure of verdict.failures) {
    if (options.verbose) console.log(`\n--- ${failure.name} (${failure.outcome})\n${failure.output}`);
  }
  if (options.output !== null) {
    writeFileSync(options.output, `${JSON.stringify([...portico.values()], null, 1)}\n`);
  }
  if (options.filter === null && !options.noStatus) {
    writeFileSync(join(here, 'STATUS.md'), renderStatus(verdict, options));
    console.log('wrote STATUS.md');
  }
  console.log(verdict.summary);
  return verdict.problems.length === 0 ? 0 : 1;
}

/** Plain results, from the cache where it has them. A plain failure is never cached: it may be load. */
async function runPlain(tests, cache, options, scratch) {
  const missing = tests.filter((test) => !cache.has('plain', test.name));
  const fresh = await runAll(missing, { ...options, mode: 'plain', scratch });
  for (const result of fresh.values()) cache.put('plain', result);
  return new Map(tests.map((test) => [test.name, fresh.get(test.name) ?? cache.take('plain', test.name)]));
}

/** Which tests make node:http serve a request: those must reach the engine under Portico. */
async function probeServers(tests, cache, options, scratch) {
  const missing = tests.filter((test) => !cache.has('probe', test.name));
  const fresh = await runAll(missing, { ...options, mode: 'probe', scratch });
  for (const result of fresh.values()) cache.put('probe', result);
  const served = new Set();
  for (const test of tests) {
    const result = fresh.get(test.name) ?? cache.take('probe', test.name);
    if (result.served) served.add(test.name);
  }
  return served;
}

function report(mode, results) {
  const counts = {};
  for (const { outcome } of results.values()) counts[outcome] = (counts[outcome] ?? 0) + 1;
  console.log(`${mode}: ${Object.entries(counts).map(([outcome, n]) => `${n} ${outcome}`).join(', ')}`);
}

process.exitCode = await main();
