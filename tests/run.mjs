#!/usr/bin/env node
// Runs every test of this folder on this machine's Node, on Node 24 and on Node 26, and the differential ones once more
// with the engine on a thread of its own.
// `node tests/run.mjs [--node this|24|26] [--plain] [PART OF A FILE NAME]...`

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildNext } from './support/build-next.mjs';

const here = import.meta.dirname;
const TEST_LIMIT_MS = 600_000; // Node 20 applies it to a whole file

const NODES = {
  this: process.execPath,
  24: join(here, 'node_modules/node-24/bin/node'),
  26: join(here, 'node_modules/node-26/bin/node'),
};

const { values, positionals } = parseArgs({
  options: { node: { type: 'string', multiple: true }, plain: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const files = readdirSync(here, { recursive: true })
  .filter((name) => name.endsWith('.test.mjs') && !/(^|\/)(node_modules|\.build)\//.test(name))
  .filter((name) => !values.plain || !name.startsWith('host/')) // node:http has no hosts
  .filter((name) => positionals.length === 0 || positionals.some((part) => name.includes(part)))
  .sort();

if (files.some((name) => name.includes('next'))) await buildNext(); // not within a test's time
const failed = [];
for (const name of values.node ?? Object.keys(NODES)) {
  const node = NODES[name];
  if (!node || !existsSync(node)) throw new Error(`no Node ${name}: run npm install --no-save --ignore-scripts in tests/`);
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  console.log(`\n=== ${files.length} test files on Node ${version}, ${values.plain ? 'plain' : 'Portico'}`);
  if (!(await runOn(node, files))) failed.push(version);
}
// Node is the oracle of these on whatever drive; one version says whether the threads keep the order.
const onThreads = files.filter((name) => name.includes('differential'));
if (onThreads.length > 0 && !values.plain) {
  console.log('\n=== what node:http does, on the threaded drive');
  const [name] = values.node ?? Object.keys(NODES);
  if (!(await runOn(NODES[name], onThreads, { PORTICO_THREADS: '1' }))) failed.push('the threaded drive');
}
console.log(failed.length === 0 ? '\nall passed' : `\nfailed on ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function runOn(node, names, extra = {}) {
  const env = { ...process.env, ...extra, ...(values.plain ? { PORTICO_TEST_PLAIN: '1' } : {}) };
  // One file at a time beside another: the machines that run this are small, and some tests measure.
  const args = ['--test', '--test-concurrency=2', '--test-reporter=spec', `--test-timeout=${TEST_LIMIT_MS}`, ...names.map((name) => join(here, name))];
  const child = spawn(node, args, { env, stdio: 'inherit' });
  const [status] = await once(child, 'exit');
  return status === 0;
}
