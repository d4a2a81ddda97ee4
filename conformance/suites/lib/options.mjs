// The command line: every option with its default, checked before anything runs.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findSuite, SUITE_NAMES } from './suites.mjs';

export const USAGE = `usage: node conformance/suites/run.mjs --suite NAME --dir DIR [options]
  --suite NAME        ${SUITE_NAMES.join(', ')}
  --dir DIR           its repository, checked out and with its dependencies installed
  --node FILE         the Node binary (default: this one)
  --register FILE     what is imported for Portico (default: packages/portico/dist/register.js)
  --filter REGEXP     only test files whose path matches; STATUS.md is then left alone
  --jobs N            files at a time (default: the number of processors)
  --timeout SECONDS   limit for one file (default: 180)
  --retries N         a file with a failed test is run again alone up to N times (default: 1)
  --no-status         do not write STATUS.md
  --verbose           print the error of each test that fails under Portico`;

/** Parses argv; throws an Error with a sentence for the user when something is missing or wrong. */
export function parseOptions(argv, here) {
  const { values } = parseArgs({
    args: argv,
    options: {
      suite: { type: 'string' },
      dir: { type: 'string' },
      node: { type: 'string', default: process.execPath },
      register: { type: 'string', default: resolve(here, '../../packages/portico/dist/register.js') },
      filter: { type: 'string' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      timeout: { type: 'string', default: '180' },
      retries: { type: 'string', default: '1' },
      'no-status': { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return { help: true };
  const suite = findSuite(values.suite);
  if (suite === undefined) throw new Error(`Say which suite: --suite ${SUITE_NAMES.join('|')}`);
  return {
    help: false,
    suite,
    ...checkout(suite, values.dir),
    node: resolve(values.node),
    nodeVersion: spawnSync(values.node, ['--version'], { encoding: 'utf8' }).stdout.trim(),
    register: resolve(values.register),
    filter: values.filter === undefined ? null : new RegExp(values.filter),
    jobs: wholeNumber('--jobs', values.jobs),
    timeoutMs: wholeNumber('--timeout', values.timeout) * 1000,
    retries: wholeNumber('--retries', values.retries),
    noStatus: values['no-status'],
    verbose: values.verbose,
  };
}

function checkout(suite, dir) {
  if (!dir) throw new Error('Say where the repository is: --dir DIR (README.md tells how to get it)');
  const manifest = join(dir, 'package.json');
  const { name, version } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {};
  if (name !== suite.name || !existsSync(join(dir, suite.folder))) throw new Error(`${dir} is no checkout of ${suite.name} with its tests`);
  if (!existsSync(join(dir, 'node_modules'))) throw new Error(`run npm install in ${dir}`);
  return { dir: resolve(dir), version };
}

function wholeNumber(name, text) {
  if (!/^\d{1,6}$/.test(text)) throw new Error(`${name} takes a whole number, not ${text}`);
  return Number(text);
}
