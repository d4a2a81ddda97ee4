// The command line: every option with its default, checked before anything runs.

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const USAGE = `usage: node conformance/tls/bogo/run.mjs --suite DIR [options]
  --suite DIR      a folder that holds BoringSSL's ssl/test/runner (or that folder itself) with its compiled test
                   program, runner.test; or SUITE=DIR
  --shim FILE      Portico's side (default: target/quick/examples/bogo_shim)
  --filter GLOBS   only these tests, globs with ; between them; STATUS.md is then left alone
  --jobs N         tests at a time (default: the number of processors)
  --no-status      do not write STATUS.md
  --verbose        print what the runner says of each test that fails and is not listed`;

/** Parses argv; throws an Error with a sentence for the user when something is missing or wrong. */
export function parseOptions(argv, here) {
  const { values } = parseArgs({
    args: argv,
    options: {
      suite: { type: 'string', default: process.env.SUITE },
      shim: { type: 'string', default: resolve(here, '../../../target/quick/examples/bogo_shim') },
      filter: { type: 'string' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      'no-status': { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return { help: true };
  if (!/^[1-9]\d{0,2}$/.test(values.jobs)) throw new Error(`--jobs takes a whole number, not ${values.jobs}`);
  if (!existsSync(values.shim)) throw new Error(`${values.shim} is not there: \`make bogo\` builds it`);
  return {
    help: false,
    runner: findRunner(values.suite),
    shim: resolve(values.shim),
    filter: values.filter ?? null,
    jobs: Number(values.jobs),
    noStatus: values['no-status'],
    verbose: values.verbose,
  };
}

function findRunner(folder) {
  if (!folder) throw new Error('Say where the suite is: --suite DIR (README.md tells how to get it)');
  for (const candidate of [join(folder, 'ssl/test/runner'), folder]) {
    if (existsSync(join(candidate, 'runner.test'))) return resolve(candidate, 'runner.test');
  }
  throw new Error(`${folder} holds no ssl/test/runner/runner.test: compile the runner first (README.md)`);
}
