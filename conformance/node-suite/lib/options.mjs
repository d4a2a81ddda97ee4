// The command line: every option with its default, checked before anything runs.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const USAGE = `usage: node conformance/node-suite/run.mjs --suite DIR [options]
  --suite DIR         a folder that holds Node's test/ tree (or that tree itself); or SUITE=DIR
  --node FILE         the Node binary to test, of the suite's own version (default: this one)
  --register FILE     what is imported for Portico (default: packages/portico/dist/register.js)
  --filter REGEXP     only tests whose folder/name matches; STATUS.md is then left alone
  --jobs N            tests at a time in test/parallel (default: the number of processors)
  --timeout SECONDS   limit for one test (default: 60)
  --retries N         a failed test is run again alone up to N times (default: 1)
  --plain-cache FILE  keep and reuse the results of the plain side
  --plain-only        run only the plain side
  --no-status         do not write STATUS.md
  --add-unlisted      bring known-differences.json up to date: new failures as "fix", passes out
  --output FILE       write the Portico side's results, output included, as JSON
  --verbose           print the output of each test that fails under Portico`;

/** Parses argv; throws an Error with a sentence for the user when something is missing or wrong. */
export function parseOptions(argv, here) {
  const { values } = parseArgs({
    args: argv,
    options: {
      suite: { type: 'string', default: process.env.SUITE },
      node: { type: 'string', default: process.execPath },
      register: { type: 'string', default: resolve(here, '../../packages/portico/dist/register.js') },
      filter: { type: 'string' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      timeout: { type: 'string', default: '60' },
      retries: { type: 'string', default: '1' },
      'plain-cache': { type: 'string' },
      'plain-only': { type: 'boolean', default: false },
      'no-status': { type: 'boolean', default: false },
      'add-unlisted': { type: 'boolean', default: false },
      output: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return { help: true };
  return {
    help: false,
    suite: findSuite(values.suite),
    node: resolve(values.node),
    nodeVersion: versionOf(values.node),
    register: resolve(values.register),
    filter: values.filter === undefined ? null : new RegExp(values.filter),
    jobs: wholeNumber('--jobs', values.jobs),
    timeoutMs: wholeNumber('--timeout', values.timeout) * 1000,
    retries: wholeNumber('--retries', values.retries),
    plainCache: values['plain-cache'] ?? null,
    plainOnly: values['plain-only'],
    noStatus: values['no-status'],
    addUnlisted: values['add-unlisted'],
    output: values.output ?? null,
    verbose: values.verbose,
  };
}

function findSuite(folder) {
  if (!folder) throw new Error('Say where the suite is: --suite DIR (README.md tells how to get it)');
  for (const candidate of [join(folder, 'test'), folder]) {
    if (existsSync(join(candidate, 'common/index.js')) && existsSync(join(candidate, 'parallel'))) {
      return resolve(candidate);
    }
  }
  throw new Error(`${folder} holds no test/common/index.js and test/parallel of Node's suite`);
}

function versionOf(binary) {
  const { stdout, error } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  if (error) throw new Error(`--node ${binary} does not run: ${error.message}`);
  return stdout.trim();
}

function wholeNumber(name, text) {
  if (!/^\d{1,6}$/.test(text)) throw new Error(`${name} takes a whole number, not ${text}`);
  return Number(text);
}
