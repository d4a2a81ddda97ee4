// The suites: where their tests lie, and how one file of them is run.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const mochaReporter = join(import.meta.dirname, 'mocha-reporter.cjs');
const nodeReporter = join(import.meta.dirname, 'node-reporter.mjs');

/** Arguments for Node that run a file with the suite's own Mocha; the reporter finds its file in the environment. */
const mocha = (nodeOptions, ...options) => (file) => [
  ...nodeOptions, 'node_modules/mocha/bin/_mocha', '--reporter', mochaReporter, ...options, file];

/**
 * Arguments for Node that run a file that uses node:test, in a process below the runner's, as the suites themselves do:
 * some files rely on the order that this gives.
 */
const nodeTest = (file, results) => ['--test', `--test-reporter=${nodeReporter}`, `--test-reporter-destination=${results}`, file];

/**
 * By name: the package, the folder of its tests and which of its files are tests, the arguments for Node that run one,
 * and variables for its environment. Options are those of the suite's own `npm test`.
 */
const SUITES = {
  express: { folder: 'test', pattern: /^(acceptance\/)?[^/]+\.js$/, run: mocha([], '--require', './test/support/env', '--check-leaks') },
  fastify: { folder: 'test', pattern: /\.test\.m?js$/, run: nodeTest },
  koa: { folder: '__tests__', pattern: /\.test\.js$/, run: nodeTest },
  ws: { folder: 'test', pattern: /^[^/]+\.test\.js$/, run: mocha(['--throw-deprecation']) },
};

export const SUITE_NAMES = Object.keys(SUITES);

/** A suite by its name, or undefined. */
export function findSuite(name) {
  return Object.hasOwn(SUITES, name) ? { name, ...SUITES[name] } : undefined;
}

/** The test files of a checked-out suite, in a fixed order, relative to it. */
export function listFiles(suite, dir, filter) {
  return readdirSync(join(dir, suite.folder), { recursive: true })
    .filter((name) => suite.pattern.test(name) && !name.includes('node_modules'))
    .map((name) => `${suite.folder}/${name}`)
    .filter((name) => filter === null || filter.test(name))
    .sort();
}
