// The packages as a user gets them: from a registry, into an empty folder, by each package manager.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { plain, testsFolder } from '../support/mode.mjs';
import { freePort } from '../support/free-port.mjs';
import { managersNode, startRegistry } from './registry.mjs';

const { version } = JSON.parse(readFileSync(join(testsFolder, '../packages/portico/package.json'), 'utf8'));
const PLATFORM = `@portico/${process.platform}-${process.arch}-gnu`;
const APP = `
  const http = require('http');
  const server = http.createServer((request, response) => response.end('hello'));
  server.listen(0, '127.0.0.1', async () => {
    const answer = await fetch('http://127.0.0.1:' + server.address().port);
    console.log(answer.status, await answer.text(), require('portico').status().active, process.versions.portico);
    server.close();
    server.closeAllConnections();
  });`;
const SERVED = `200 hello true ${version}\n`;
const STOCK = '200 hello false undefined\n';

let registry;
before(async () => {
  registry = await startRegistry();
});
after(() => registry?.end());

/** A folder with files, outside of the repository; it is removed when the test ends. */
function folderOf(t, files) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-install-'));
  writeFileSync(join(folder, '.npmrc'), `registry=${registry.url}\n`);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

/** Runs a command for at most two minutes: `{ code, stdout, stderr }`. */
function run(folder, command, args, env = {}) {
  const clean = Object.fromEntries(Object.entries(process.env)
    .filter(([name]) => !/^(PORTICO_|NODE_(OPTIONS|TEST|PATH)|npm_|PNPM_|YARN_|INIT_CWD|COREPACK)/i.test(name)));
  const own = join(folder, '.home');
  mkdirSync(own, { recursive: true });
  return new Promise((resolve) => {
    execFile(command, args, {
      cwd: folder,
      timeout: 120_000,
      env: { ...clean, HOME: own, npm_config_cache: join(own, 'cache'), npm_config_update_notifier: 'false', npm_config_fund: 'false', npm_config_audit: 'false', ...env },
    }, (error, stdout, stderr) => resolve({ code: error === null ? 0 : error.code ?? error.signal, stdout, stderr }));
  });
}

/** Runs a command that must succeed. */
async function must(folder, command, args, env) {
  const result = await run(folder, command, args, env);
  assert.equal(result.code, 0, `${command} ${args.join(' ')}: ${result.stdout}${result.stderr}`);
  return result;
}

const node = (folder, args, env) => run(folder, process.execPath, args, env);
/** The Node under test comes first on PATH. */
const path = () => [dirname(process.execPath), process.env.PATH].join(delimiter);

test('ES modules find the names of each entry, and all entries have one state', { skip: plain }, async (t) => {
  const folder = folderOf(t, {
    'app.mjs': `
      import 'portico/register';
      import { cache, http, https, recycle, slipstream, status } from 'portico';
      import { Server, createServer } from 'portico/http';
      import { createServer as secure } from 'portico/https';
      import { createSecureServer } from 'portico/http2';
      import plain from 'node:http';
      console.log([slipstream, recycle, http, https, secure, createSecureServer].every((name) => typeof name === 'function'));
      console.log(status().active, typeof cache.purge, http().Server === Server, plain.Server === Server, plain.createServer === createServer);`,
  });
  await must(folder, 'npm', ['install', 'portico']);
  assert.deepEqual(await node(folder, ['app.mjs']), { code: 0, stdout: 'true\ntrue function true true true\n', stderr: '' });
});

test('npm: one command installs it, and an unchanged program runs on it', { skip: plain }, async (t) => {
  const folder = folderOf(t, { 'app.cjs': APP });
  await must(folder, 'npm', ['install', 'portico']);
  assert.deepEqual(readdirSync(join(folder, 'node_modules/@portico')), [PLATFORM.split('/')[1]]);
  for (const flag of ['--import', '--require']) {
    assert.deepEqual(await node(folder, [flag, 'portico/register', 'app.cjs']), { code: 0, stdout: SERVED, stderr: '' });
  }
  assert.deepEqual(await node(folder, ['app.cjs'], { NODE_OPTIONS: '--import portico/register' }), { code: 0, stdout: SERVED, stderr: '' });
});

test('npx runs the program of the platform, with its output, its exit code and its signals', { skip: plain }, async (t) => {
  const folder = folderOf(t, {});
  await must(folder, 'npm', ['install', 'portico']);
  const { stdout } = await must(folder, 'npx', ['portico', '--version'], { PATH: path() });
  assert.equal(stdout.trim(), `portico ${version}`);
  const wrong = await run(folder, 'npx', ['portico', 'nonsense'], { PATH: path() });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /nonsense/);
});

test('a program that listens on a URL prefix starts the installed host', { skip: plain }, async (t) => {
  const port = await freePort();
  const folder = folderOf(t, {
    'app.cjs': `
      const server = require('http').createServer((request, response) => response.end('by prefix'));
      server.listen('http://127.0.0.1:${port}/shop/', async () => {
        const answer = await fetch('http://127.0.0.1:${port}/shop/');
        console.log(await answer.text());
        process.exit();
      });`,
  });
  await must(folder, 'npm', ['install', 'portico']);
  const runtime = mkdtempSync(join(tmpdir(), 'portico-run-'));
  t.after(() => rmSync(runtime, { recursive: true, force: true }));
  const { code, stdout, stderr } = await node(folder, ['--import', 'portico/register', 'app.cjs'], { XDG_RUNTIME_DIR: runtime });
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'by prefix\n', stderr: '' });
});

test('pnpm', { skip: plain }, async (t) => {
  const folder = folderOf(t, { 'app.cjs': APP, 'package.json': { name: 'app', private: true, dependencies: { portico: version } } });
  await must(folder, managersNode, [join(testsFolder, 'node_modules/pnpm/bin/pnpm.mjs'), 'install', '--store-dir', join(folder, '.store')],
    { pnpm_config_minimum_release_age: '0', npm_config_minimum_release_age: '0' });
  assert.deepEqual(await node(folder, ['--import', 'portico/register', 'app.cjs']), { code: 0, stdout: SERVED, stderr: '' });
});

for (const linker of ['node-modules', 'pnp']) {
  test(`yarn (${linker})`, { skip: plain }, async (t) => {
    const folder = folderOf(t, {
      'app.cjs': APP,
      'yarn.lock': '',
      '.yarnrc.yml': `nodeLinker: ${linker}\nnpmRegistryServer: "${registry.url}"\nunsafeHttpWhitelist: ["127.0.0.1"]\nenableTelemetry: false\nenableGlobalCache: false\nnpmMinimalAgeGate: 0\n`,
      'package.json': { name: 'app', private: true, dependencies: { portico: version } },
    });
    const yarn = [join(testsFolder, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js')];
    await must(folder, managersNode, [...yarn, 'install'], { YARN_ENABLE_IMMUTABLE_INSTALLS: 'false' });
    assert.equal(existsSync(join(folder, '.pnp.cjs')), linker === 'pnp');
    const loader = linker === 'pnp' ? ['--require', './.pnp.cjs'] : [];
    assert.deepEqual(await node(folder, [...loader, '--require', 'portico/register', 'app.cjs']), { code: 0, stdout: SERVED, stderr: '' });
  });
}

test('npm workspaces: a program in a folder of its own finds the package of the root', { skip: plain }, async (t) => {
  const folder = folderOf(t, {
    'package.json': { name: 'root', private: true, workspaces: ['apps/*'] },
    'apps/shop/package.json': { name: 'shop', private: true, dependencies: { portico: version }, scripts: { start: 'node --import portico/register app.cjs' } },
    'apps/shop/app.cjs': APP,
  });
  await must(folder, 'npm', ['install']);
  const { stdout } = await must(folder, 'npm', ['start', '--silent', '--workspace', 'shop'], { PATH: path() });
  assert.equal(stdout, SERVED);
});

test('a program bundled into one file runs on it, where the platform package is beside it', { skip: plain }, async (t) => {
  const folder = folderOf(t, { 'app.cjs': `require('portico/register');\n${APP}` });
  await must(folder, 'npm', ['install', 'portico']);
  await must(folder, managersNode, [join(testsFolder, 'node_modules/rolldown/bin/cli.mjs'), 'app.cjs', '--platform', 'node', '--format', 'cjs', '--file', 'out/bundle.cjs']);
  rmSync(join(folder, 'node_modules/portico'), { recursive: true });
  assert.deepEqual(await node(folder, ['out/bundle.cjs']), { code: 0, stdout: SERVED, stderr: '' });
});

test('without the optional package node:http serves, and a sentence says what to do', { skip: plain }, async (t) => {
  const folder = folderOf(t, { 'app.cjs': APP });
  await must(folder, 'npm', ['install', 'portico', '--omit=optional']);
  const { code, stdout, stderr } = await node(folder, ['--import', 'portico/register', 'app.cjs']);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: STOCK });
  assert.ok(stderr.includes(`the package ${PLATFORM} is not installed`), stderr);
  assert.match(stderr, /Install portico again with optional packages \(npm: without --omit=optional\)/);
  const program = await run(folder, 'npx', ['portico', '--version'], { PATH: path() });
  assert.equal(program.code, 1);
  assert.match(program.stderr, /^portico: there is no program for linux on \w+ here\. Install portico again with optional packages/);
});

test('a platform package of another version is not used, and both versions are named', { skip: plain }, async (t) => {
  const folder = folderOf(t, { 'app.cjs': APP });
  await must(folder, 'npm', ['install', 'portico']);
  const manifest = join(folder, 'node_modules/portico/package.json');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(`"version": "${version}"`, '"version": "9.9.9"'));
  const { code, stdout, stderr } = await node(folder, ['--import', 'portico/register', 'app.cjs']);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: STOCK });
  assert.ok(stderr.includes(`is version ${version}, the package 9.9.9`), stderr);
  assert.match(stderr, /Install portico again: it and its platform package must be of one version/);
});

test('another system or processor gets node:http and one sentence', { skip: plain }, async (t) => {
  const folder = folderOf(t, {
    'app.cjs': APP,
    'elsewhere.cjs': `const [platform, arch] = process.env.ELSEWHERE.split(' ');
      Object.defineProperty(process, 'platform', { value: platform });
      Object.defineProperty(process, 'arch', { value: arch });`,
  });
  await must(folder, 'npm', ['install', 'portico']);
  for (const elsewhere of ['darwin arm64', 'win32 x64', 'linux ppc64']) {
    const { code, stdout, stderr } = await node(folder, ['--require', './elsewhere.cjs', '--require', 'portico/register', 'app.cjs'], { ELSEWHERE: elsewhere });
    assert.deepEqual({ code, stdout }, { code: 0, stdout: STOCK });
    assert.ok(stderr.includes(`Portico has no add-on for ${elsewhere.replace(' ', ' on ')}`), stderr);
    assert.match(stderr, /It runs on Linux, on x64 and arm64 processors/);
  }
});

test('publint and are-the-types-wrong find nothing', { skip: plain }, async (t) => {
  const folder = folderOf(t, {});
  const main = registry.tarballs.find((file) => /portico-\d/.test(file));
  await must(folder, managersNode, [join(testsFolder, 'node_modules/publint/src/cli.js'), main, '--strict']);
  await must(folder, managersNode, [join(testsFolder, 'node_modules/@arethetypeswrong/cli/dist/index.js'), main, '--format', 'ascii']);
});

test('a compiler finds the types by each way of resolving', { skip: plain }, async (t) => {
  const folder = folderOf(t, {
    'app.ts': `import { status } from 'portico';\nimport 'portico/register';\nimport { createServer } from 'portico/http';\nimport * as https from 'portico/https';\n`
      + 'createServer((request, response) => { response.end(request.url); });\nconst active: boolean = status().active;\nconsole.log(active, https.createServer);\n',
  });
  await must(folder, 'npm', ['install', 'portico']);
  cpSync(join(testsFolder, '../node_modules/@types'), join(folder, 'node_modules/@types'), { recursive: true });
  cpSync(join(testsFolder, '../node_modules/undici-types'), join(folder, 'node_modules/undici-types'), { recursive: true });
  for (const [module, resolution] of [['commonjs', 'node10'], ['node16', 'node16'], ['nodenext', 'nodenext'], ['esnext', 'bundler']]) {
    await must(folder, managersNode, [join(testsFolder, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck', '--types', 'node',
      '--target', 'es2022', '--module', module, '--moduleResolution', resolution, 'app.ts']);
  }
});
