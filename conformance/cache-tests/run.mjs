#!/usr/bin/env node
// Runs the tests of http-tests/cache-tests against its own origin server behind a host whose site has cache = "standard", or
// under Portico alone with PORTICO_CACHE=standard (--embedded), and writes STATUS.md. README.md in this folder says how to get the suite and what the exit status means.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { devNull, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const here = import.meta.dirname;
const REGISTER = join(here, '../../packages/portico/dist/register.js');
const PROGRAM = process.env.PORTICO_PROGRAM ?? join(here, '../../target/release/portico');
const LIMIT_MS = 300_000;
const START_MS = 30_000;
const PASSED = '✅';
const KINDS = ['required', 'optimal'];

const { values: { suite: given, threads, embedded } } = parseArgs({
  options: { suite: { type: 'string' }, threads: { type: 'string', default: '0' }, embedded: { type: 'boolean', default: false } },
});
if (given === undefined) {
  console.error('usage: run.mjs --suite FOLDER [--embedded [--threads N]] (see README.md)');
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

const children = [];
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** Starts a program; it is ended with this process. */
function startProgram(program, args, env = {}) {
  const child = spawn(program, args, { cwd: suite, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

/** Starts a script of the suite. */
const start = (args, env) => startProgram(process.execPath, args, env);

/** A host for the port, with what a process needs to find it. */
async function startHost(port) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-cache-tests-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const [socket, file] = [join(folder, 'host.sock'), join(folder, 'portico.toml')];
  writeFileSync(file, `[[site]]\nprefix = "http://*:${port}/"\ncache = "standard"\n`);
  startProgram(PROGRAM, ['host', '--config', file, '--socket', socket, '--state', folder]).stdout.resume();
  const limit = Date.now() + START_MS;
  while (!(await answers(socket))) {
    if (Date.now() > limit) throw new Error(`${PROGRAM} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { PORTICO_HOST: socket };
}

function answers(socket) {
  return new Promise((resolve) => {
    const probe = net.connect(socket);
    probe.once('connect', () => resolve(void probe.destroy() ?? true));
    probe.once('error', () => resolve(false));
  });
}

/** The suite's origin server, which is also the cache, or behind a host that is. */
async function startOrigin(port) {
  const own = embedded ? { PORTICO_CACHE: 'standard', PORTICO_THREADS: threads } : await startHost(port);
  const behind = embedded ? [] : ['--import', pathToFileURL(join(here, 'listen-on-prefix.mjs')).href];
  const origin = start(['--import', REGISTER, ...behind, 'test-engine/server/server.mjs'], {
    ...own, PORTICO_REQUIRE: '1', npm_config_protocol: 'http', npm_config_port: String(port), npm_config_pidfile: devNull,
  });
  const lines = createInterface({ input: origin.stdout });
  await once(lines, 'line', { signal: AbortSignal.timeout(START_MS) });
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
    '# The tests of cache-tests.fyi under Portico', '', 'Written by `run.mjs`, not by hand. The origin is behind a host whose site has `cache = "standard"`.', '',
    '| kind | passed |', '|---|---|', ...rows, '', '## Tests that do not pass', '', '| Test | Kind | What it says | Why |', '|---|---|---|---|',
    ...failed.map(({ id, kind, said }) => `| \`${id}\` | ${kind} | ${cell(said)} | ${cell(known[id] ?? '**not known**')} |`), '',
  ].join('\n');
}

const known = JSON.parse(readFileSync(join(here, 'known-differences.json'), 'utf8'));
const port = await freePort();
await startOrigin(port);
const tests = await judge(await runClient(port));
for (const child of children) child.kill('SIGKILL');
if (!embedded) writeFileSync(join(here, 'STATUS.md'), render(tests, known));
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
