#!/usr/bin/env node
// Runs the tests of http-tests/cache-tests against its own origin server under Portico with PORTICO_CACHE=standard, and
// writes STATUS.md. README.md in this folder says how to get the suite and what the exit status means.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { devNull } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const here = import.meta.dirname;
const REGISTER = join(here, '../../packages/portico/dist/register.js');
const LIMIT_MS = 300_000;
const START_MS = 30_000;
const PASSED = '✅';
const KINDS = ['required', 'optimal'];

const { values: { suite: given, threads } } = parseArgs({ options: { suite: { type: 'string' }, threads: { type: 'string', default: '0' } } });
if (given === undefined) {
  console.error('usage: run.mjs --suite FOLDER [--threads N] (see README.md)');
  process.exit(2);
}
const suite = resolve(given);
const load = (file) => import(pathToFileURL(join(suite, file)).href);

/** A port that no other program has now. */
async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a script of the suite; it is ended with this process. */
function start(args, env) {
  const child = spawn(process.execPath, args, { cwd: suite, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill('SIGKILL'));
  return child;
}

/** The suite's origin server, which is also the cache. */
async function startOrigin(port) {
  const origin = start(['--import', REGISTER, 'test-engine/server/server.mjs'], {
    PORTICO_CACHE: 'standard', PORTICO_REQUIRE: '1', PORTICO_THREADS: threads,
    npm_config_protocol: 'http', npm_config_port: String(port), npm_config_pidfile: devNull,
  });
  const lines = createInterface({ input: origin.stdout });
  await once(lines, 'line', { signal: AbortSignal.timeout(START_MS) });
  return origin;
}

/** What the client found, by test. */
async function runClient(port) {
  // Without an id in the one variable and with an empty one in the other, all tests are run.
  const client = start(['--no-warnings', 'test-engine/cli.mjs'], {
    npm_config_base: `http://127.0.0.1:${port}`, npm_package_config_id: '', npm_config_id: '',
  });
  setTimeout(() => client.kill('SIGKILL'), LIMIT_MS).unref();
  const [output, [status]] = await Promise.all([client.stdout.toArray(), once(client, 'exit')]);
  if (status !== 0) throw new Error(`the suite's client ended with ${status}`);
  return JSON.parse(Buffer.concat(output).toString());
}

/** Every test that the client ran: its kind, whether it passed, and what was wrong. */
async function judge(results) {
  const { default: suites } = await load('tests/index.mjs');
  const { determineTestResult } = await load('test-engine/lib/results.mjs');
  return suites.flatMap(({ id: group, tests }) => tests
    .filter(({ id }) => id in results)
    .map(({ id, kind = 'required' }) => ({
      id, group, kind, passed: [PASSED, 'Y'].includes(determineTestResult(suites, id, results)[2]),
      said: Array.isArray(results[id]) ? results[id][1] : 'a test that it depends on does not pass',
    })));
}

function render(tests, known) {
  const cell = (text) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
  const rows = KINDS.map((kind) => {
    const all = tests.filter((test) => test.kind === kind);
    return `| ${kind} | ${all.filter(({ passed }) => passed).length} of ${all.length} |`;
  });
  const failed = tests.filter(({ kind, passed }) => KINDS.includes(kind) && !passed);
  return [
    '# The tests of cache-tests.fyi under Portico', '', 'Written by `run.mjs`, not by hand. With `PORTICO_CACHE=standard`, the origin and the cache in one process.', '',
    '| kind | passed |', '|---|---|', ...rows, '', '## Tests that do not pass', '', '| Test | Kind | What it says | Why |', '|---|---|---|---|',
    ...failed.map(({ id, kind, said }) => `| \`${id}\` | ${kind} | ${cell(said)} | ${cell(known[id] ?? '**not known**')} |`), '',
  ].join('\n');
}

const known = JSON.parse(readFileSync(join(here, 'known-differences.json'), 'utf8'));
const port = await freePort();
const origin = await startOrigin(port);
const tests = await judge(await runClient(port));
origin.kill();
writeFileSync(join(here, 'STATUS.md'), render(tests, known));
const judged = tests.filter(({ kind }) => KINDS.includes(kind));
const problems = [
  ...judged.filter(({ id, passed }) => !passed && !(id in known)).map(({ id, said }) => `${id} does not pass: ${said}`),
  ...judged.filter(({ id, passed }) => passed && id in known).map(({ id }) => `${id} passes: take it out of known-differences.json`),
  ...Object.keys(known).filter((id) => !judged.some((test) => test.id === id)).map((id) => `${id} is listed, and did not run`),
];
for (const problem of problems) console.log(`PROBLEM ${problem}`);
for (const kind of KINDS) {
  const all = judged.filter((test) => test.kind === kind);
  console.log(`${kind}: ${all.filter(({ passed }) => passed).length} of ${all.length}`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
