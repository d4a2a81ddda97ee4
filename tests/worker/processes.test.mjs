// Workers with several servers, processes or threads, and the ways in which programs are started.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { buildNext, NEXT } from '../support/build-next.mjs';
import { curl, eventually, raw } from '../support/clients.mjs';
import { freePort } from '../support/free-port.mjs';
import { testsFolder } from '../support/mode.mjs';
import { startHost } from '../support/start-host.mjs';
import { startWorker } from '../support/start-worker.mjs';

const node = process.execPath;
const app = (name) => join(testsFolder, 'worker/apps', name);
const [major] = process.versions.node.split('.').map(Number);

/** A host, a port for the program, and the start of a command whose server on that port is at `/`. */
async function place(t, options) {
  const host = await startHost(t, options);
  const port = await freePort();
  const start = (command, { env, listen = { [port]: [`http://*:${host.port}/`] }, ...rest } = {}) =>
    startWorker(host, command, { env: { PORT: String(port), ...env }, listen, ...rest });
  return { host, port, start };
}

const isOpen = (port) => new Promise((resolve) => {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('connect', () => resolve(void socket.destroy() ?? true)).on('error', () => resolve(false));
});

const prefixesOf = async (host) => (await host.status()).prefixes.map(({ prefix }) => prefix).sort();

/** A host with a certificate for `port`. */
async function secureHost(t) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-worker-tls-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [key, file] = ['key', 'crt'].map((kind) => join(folder, `localhost.${kind}`));
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', '/CN=localhost',
    '-keyout', key, '-out', file], { stdio: 'ignore' });
  const securePort = await freePort();
  return { securePort, ...await place(t, { configuration: `[[certificate]]\nport = ${securePort}\ncertificate = "${file}"\nkey = "${key}"\n` }) };
}

describe('a worker’s servers', () => {
  test('the one on its port is at the prefix, and the others listen where they say', async (t) => {
    const { host, port, start } = await place(t);
    const metrics = await freePort();
    const { match } = await start([node, app('places.cjs')], { env: { METRICS: String(metrics) }, ready: /^listening (\d+) (\d+) (.*)/ });
    const [, own, tcp, address] = match;
    assert.deepEqual(JSON.parse(address), { address: '::', family: 'IPv6', port });
    assert.equal(JSON.parse(await curl(`${host.url}/a`)).url, '/a');
    assert.equal(await isOpen(port), false);
    assert.equal(await curl(`http://127.0.0.1:${metrics}/`), 'metrics');
    assert.equal(await curl(`http://127.0.0.1:${own}/`), 'own');
    assert.equal(await raw(tcp, ''), 'tcp');
    assert.deepEqual(await prefixesOf(host), [`http://*:${host.port}/`]);
  });

  test('one server takes all prefixes of its port, and knows which of its clients speak TLS', async (t) => {
    const { host, port, securePort, start } = await secureHost(t);
    const listen = { [port]: [`http://*:${host.port}/a/`, `http://*:${host.port}/b/`, `https://*:${securePort}/`] };
    await start([node, app('places.cjs')], { env: { METRICS: String(await freePort()) }, listen });
    const asked = async (...words) => JSON.parse(await curl(...words));
    for (const path of ['/a/x', '/b/y']) {
      const facts = await asked(`${host.url}${path}`);
      assert.deepEqual([facts.url, facts.encrypted], [path, false]);
      assert.match(facts.remoteAddress, /127\.0\.0\.1$/);
    }
    for (const [option, version] of [['--http1.1', '1.1'], ['--http2', '2']]) {
      const [facts, spoken] = (await curl('--insecure', option, '--write-out', '\n%{http_version}', `https://127.0.0.1:${securePort}/c`)).split('\n');
      assert.deepEqual([JSON.parse(facts).encrypted, spoken], [true, version]);
    }
  });

  test('a server on several prefixes closes once, and nothing keeps its process', async (t) => {
    const { host, port, start } = await place(t);
    const program = await start([node, app('listen.cjs'), 'number'], { listen: { [port]: ['a', 'b', 'c'].map((path) => `http://*:${host.port}/${path}/`) } });
    assert.equal(await curl(`${host.url}/b/`), 'answered /b/');
    await program.kill('SIGTERM');
    assert.deepEqual(await program.ended, [0, null]);
    assert.deepEqual(program.output().split('\n').slice(-2), ['close false null', 'ends']);
  });

  test('an https server takes the https prefixes of its port', async (t) => {
    const { host, port, securePort, start } = await secureHost(t);
    await start([node, app('https.cjs')], { listen: { [port]: [`http://*:${host.port}/`, `https://*:${securePort}/`] } });
    assert.deepEqual(JSON.parse(await curl('--insecure', `https://127.0.0.1:${securePort}/`)), { encrypted: true, protocol: 'TLSv1.3' });
    assert.deepEqual(await prefixesOf(host), [`https://*:${securePort}/`]);
    const refused = await start([node, app('https.cjs')], { ready: /^error/ });
    assert.match(refused.output(), /ERR_PORTICO_PREFIX_SCHEME Port \d+ stands for the application's URL prefixes, and none of them begins with https/);
  });

  test('port 0 is the application’s once, where the host says so', async (t) => {
    const { host, start } = await place(t);
    const { match } = await start([node, app('any-port.cjs')], { listen: { 0: [`http://*:${host.port}/`] }, ready: /^listening (\d+) (\d+)/ });
    assert.equal(Number(match[1]), host.port);
    assert.equal(await curl(host.url), 'first');
    assert.equal(await curl(`http://127.0.0.1:${match[2]}/`), 'second');
  });

  test('where any port is the application’s, each is opened by the host, on the program’s address', async (t) => {
    const { host, port, start } = await place(t);
    const [metrics] = [await freePort()];
    const { match } = await start([node, app('places.cjs')], { env: { METRICS: String(metrics) }, listen: { '*': ['http://{host}:{port}/'] }, ready: /^listening (\d+)/ });
    assert.equal(JSON.parse(await curl(`http://127.0.0.1:${port}/a`)).url, '/a');
    assert.equal(await curl(`http://127.0.0.1:${metrics}/`), 'metrics');
    assert.equal(await curl(`http://127.0.0.1:${match[1]}/`), 'own');
    assert.deepEqual(await prefixesOf(host), [port, metrics].map((each) => `http://*:${each}/`).sort());
    const other = await freePort();
    await start([node, app('listen.cjs'), 'number and host'], { env: { PORT: String(other) }, listen: { '*': ['http://{host}:{port}/'] } });
    assert.ok((await prefixesOf(host)).includes(`http://127.0.0.1:${other}/`));
    assert.equal(await curl(`http://127.0.0.1:${other}/`), 'answered /');
  });

  test('a prefix that the host refuses is an error of the server', async (t) => {
    const { host, start } = await place(t);
    const program = await start([node, app('listen.cjs'), 'number'], { listen: { '*': [`ftp://*:${host.port}/`] }, ready: /^error/ });
    assert.match(program.output(), /error {"code":"ERR_PORTICO_PREFIX_INVALID"/);
    assert.deepEqual(await program.ended, [0, null]);
  });

  test('an inspector is started as ever', async (t) => {
    const { host, start } = await place(t);
    const { NODE_OPTIONS } = (await import('../support/start-worker.mjs')).workerEnvironment(host, { listen: {} });
    const program = await start([node, app('await.mjs')], { env: { NODE_OPTIONS: `--inspect=0 ${NODE_OPTIONS}` } });
    assert.match(program.output(), /Debugger listening/);
    assert.equal(await curl(host.url), 'from a module');
  });
});

describe('a worker’s processes and threads', () => {
  /** The process ids that answer. */
  const answering = async (host) => new Set(await Promise.all(Array.from({ length: 40 }, () => curl(host.url))));

  test('the workers of a cluster share its port', async (t) => {
    const { host, start } = await place(t);
    const { match, output } = await start([node, app('families.cjs'), 'cluster'], { ready: /^listening (\d+) (\d+)/ });
    const expected = new Set(match.slice(1));
    await eventually(async () => (await answering(host)).size === 2, 'both answer');
    assert.deepEqual((await answering(host)).union?.(expected) ?? expected, expected);
    assert.doesNotMatch(output(), /wrong/);
  });

  test('a forked child may have the server, and speaks with its parent', async (t) => {
    const { host, start } = await place(t);
    const { match } = await start([node, app('families.cjs'), 'fork'], { ready: /^listening (\d+) ready/ });
    assert.deepEqual(await answering(host), new Set([match[1]]));
  });

  test('a thread may have the server', async (t) => {
    const { host, start } = await place(t);
    const program = await start([node, app('families.cjs'), 'thread']);
    assert.deepEqual(await answering(host), new Set([String(program.pid)]));
  });
});

describe('the ways in which programs are started', () => {
  let site;
  before(async () => {
    site = await buildNext();
  });

  test('an ES module with a top-level await', async (t) => {
    const { host, start } = await place(t);
    await start([node, app('await.mjs')]);
    assert.equal(await curl(host.url), 'from a module');
  });

  test('TypeScript, by Node’s own type stripping', { skip: major < 24 && 'Node 24 is the first that runs it without a flag' }, async (t) => {
    const { host, start } = await place(t);
    await start([node, app('typed.ts')]);
    assert.equal(await curl(host.url), 'from TypeScript');
  });

  test('npm start', async (t) => {
    const { host, port, start } = await place(t);
    const folder = mkdtempSync(join(tmpdir(), 'portico worker ')); // a space, as in "My Projects"
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'shop', version: '1.0.0', scripts: { prestart: 'node --version', start: 'node server.js' } }));
    writeFileSync(join(folder, 'server.js'), 'require("node:http").createServer((req, res) => res.end("npm")).listen(process.env.PORT, () => console.log("listening"));');
    await start(['npm', 'start'], { cwd: folder, env: { PATH: `${dirname(node)}:${process.env.PATH}`, npm_config_update_notifier: 'false' } });
    assert.equal(await curl(host.url), 'npm');
    assert.equal(await isOpen(port), false);
  });

  const FRAMEWORKS = {
    Express: { command: [node, 'real-software/apps/express.cjs', 'express-5'], path: '/', answer: /^Hello World!$/ },
    Fastify: { command: [node, 'real-software/apps/fastify.mjs'], path: '/', answer: /^{"hello":"world"}$/ },
    Koa: { command: [node, 'real-software/apps/koa.cjs'], path: '/', answer: /^Hello Koa$/ },
    hapi: { command: [node, 'real-software/apps/hapi.cjs'], path: '/hello/ann', answer: /"user":"ann"/ },
  };
  for (const [name, { command, path, answer }] of Object.entries(FRAMEWORKS)) {
    test(name, async (t) => {
      const { host, port, start } = await place(t);
      const { match } = await start(command, { ready: /^listening on (\d+)/ });
      assert.equal(Number(match[1]), port);
      assert.match(await curl(`${host.url}${path}`), answer);
      assert.equal(await isOpen(port), false);
    });
  }

  test('next start -p', { timeout: 120_000 }, async (t) => {
    const { host, port, start } = await place(t);
    await start([node, NEXT, 'start', site, '-p', String(port)], { ready: /Ready in/, env: { NEXT_TELEMETRY_DISABLED: '1', PORT: '' } });
    assert.match(await curl(host.url), /Built at build time/);
    assert.equal(await curl('-X', 'POST', '-d', 'shout', `${host.url}/api/echo`), 'SHOUT');
    assert.equal(await isOpen(port), false);
  });
});
