// Where the engine can't be used: node:http serves, one notice says why, and nothing crashes.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { project, run } from './support/programs.mjs';

const APP = `
  const http = require('http');
  const https = require('https');
  const portico = require('portico');
  const server = http.createServer((request, response) => response.end('hello'));
  server.listen(0, () => http.get({ port: server.address().port }, (response) => {
    response.resume();
    response.on('end', () => {
      server.close();
      console.log(response.statusCode, portico.status().active, portico.http() === http, portico.https() === https,
        require('portico/http') === http, require('portico/https') === https);
    });
  }));
`;
const SERVED = '200 false true true true true\n';
const { version } = createRequire(import.meta.url)('../package.json');
const WITHOUT = { PORTICO_NATIVE: '/nonexistent/portico.node' };

test('without the add-on node:http serves, and one warning says why and what to do', async (t) => {
  const folder = project(t, { 'app.cjs': APP });
  for (const flag of ['--import', '--require']) {
    const { code, stdout, stderr } = await run(folder, [flag, 'portico/register', 'app.cjs'], WITHOUT);
    assert.equal(code, 0);
    assert.equal(stdout, SERVED);
    assert.equal(stderr.match(/PORTICO_FALLBACK/g).length, 1);
    assert.match(stderr, /\[PORTICO_FALLBACK\] PorticoWarning: Portico is not in use, and node:http serves instead: the add-on \/nonexistent\/portico\.node, which PORTICO_NATIVE names, does not exist\.\n/);
    assert.match(stderr, /Correct PORTICO_NATIVE or leave it out\. Set PORTICO_DISABLE=1.*PORTICO_REQUIRE=1/);
  }
});

test('the warning is an ordinary one: programs see its code, and can have it traced or silenced', async (t) => {
  const folder = project(t, {
    'app.cjs': `process.on('warning', (warning) => console.log(warning.name, warning.code)); require('portico/register'); require('portico/register');`,
  });
  const { stdout } = await run(folder, ['--no-warnings', 'app.cjs'], WITHOUT);
  assert.equal(stdout, 'PorticoWarning PORTICO_FALLBACK\n');
});

test('threads do not repeat the warning', async (t) => {
  const folder = project(t, {
    'thread.cjs': `require('http').createServer().listen(0, function () { this.close(); });`,
    'app.cjs': `const { Worker } = require('worker_threads'); new Worker('./thread.cjs'); new Worker('./thread.cjs');`,
  });
  const { code, stderr } = await run(folder, ['--import', 'portico/register', 'app.cjs'], WITHOUT);
  assert.equal(code, 0);
  assert.equal(stderr.match(/PORTICO_FALLBACK/g).length, 1);
});

test('an add-on of another version or with other records is not used, and the notice says so', async (t) => {
  const folder = project(t, {
    'app.cjs': APP,
    'older.cjs': `exports.version = () => '0.0.9'; exports.createEngine = () => { throw new Error('used'); };`,
    'built.cjs': `exports.version = () => '${version}'; exports.records = () => 1;`,
    'before.cjs': `exports.version = () => '${version}';`,
    'other.cjs': `exports.something = 'else';`,
  });
  for (const [file, notice] of [
    ['older.cjs', /PORTICO_FALLBACK.*older\.cjs is version 0\.0\.9, the package \d+\.\d+\.\d+.*\n.*Run `make build` in the source tree/],
    ['built.cjs', /PORTICO_FALLBACK.*built\.cjs is version \S+ as the package, but was built from different tables of records.*\n.*Run `make build` in the source tree/],
    ['before.cjs', /before\.cjs is version \S+ as the package, but was built from different tables/],
    ['other.cjs', /PORTICO_FALLBACK.*other\.cjs is no add-on of Portico/],
  ]) {
    const { code, stdout, stderr } = await run(folder, ['--import', 'portico/register', 'app.cjs'], { PORTICO_NATIVE: `${folder}/${file}` });
    assert.equal(code, 0, stderr);
    assert.equal(stdout, SERVED);
    assert.match(stderr, notice);
  }
});

test('an add-on that does not load is a fallback, not a crash', async (t) => {
  const folder = project(t, { 'app.cjs': APP, 'broken.node': 'no shared object' });
  const { code, stdout, stderr } = await run(folder, ['--import', 'portico/register', 'app.cjs'], { PORTICO_NATIVE: `${folder}/broken.node` });
  assert.equal(code, 0);
  assert.equal(stdout, SERVED);
  assert.match(stderr, /PORTICO_FALLBACK.*the add-on could not be loaded/);
});

test('--no-addons is a fallback that says so', async (t) => {
  const folder = project(t, { 'app.cjs': APP });
  const { code, stdout, stderr } = await run(folder, ['--no-addons', '--import', 'portico/register', 'app.cjs']);
  assert.equal(code, 0);
  assert.equal(stdout, SERVED);
  assert.match(stderr, /PORTICO_FALLBACK[^]*--no-addons/);
});

test('PORTICO_DISABLE keeps node:http in silence', async (t) => {
  const folder = project(t, { 'app.cjs': APP });
  for (const env of [{ PORTICO_DISABLE: '1' }, { PORTICO_DISABLE: '1', ...WITHOUT }, { PORTICO_DISABLE: '1', PORTICO_REQUIRE: '1' }]) {
    assert.deepEqual(await run(folder, ['--import', 'portico/register', 'app.cjs'], env), { code: 0, stdout: SERVED, stderr: '' });
  }
});

test('PORTICO_REQUIRE makes it an error: one line at the start, without where in Portico it was found', async (t) => {
  const folder = project(t, { 'app.cjs': APP, 'own.cjs': `try { require('portico').slipstream(); } catch (error) { console.log(error.code, error.advice); }` });
  const environment = { PORTICO_REQUIRE: '1', ...WITHOUT };
  const line = "Portico can't be used, and PORTICO_REQUIRE=1 asks for it: the add-on /nonexistent/portico.node, which PORTICO_NATIVE names, "
    + 'does not exist. Correct PORTICO_NATIVE or leave it out. [ERR_PORTICO_ADD_ON]\n';
  for (const flag of ['--import', '--require']) {
    assert.deepEqual(await run(folder, [flag, 'portico/register', 'app.cjs'], environment), { code: 1, stdout: '', stderr: line });
  }
  const { code, stdout } = await run(folder, ['own.cjs'], environment);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: 'ERR_PORTICO_ADD_ON Correct PORTICO_NATIVE or leave it out.\n' });
});

test('an old Node.js keeps node:http', async (t) => {
  const folder = project(t, {
    'old.cjs': `Object.defineProperty(process.versions, 'node', { value: '18.20.0' }); const v = process.versions; Object.defineProperty(process, 'versions', { value: { ...v, node: '18.20.0' } });`,
    'app.cjs': APP,
  });
  const { code, stdout, stderr } = await run(folder, ['--require', './old.cjs', '--require', 'portico/register', 'app.cjs']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, SERVED);
  assert.match(stderr, /Node\.js 18\.20\.0 is too old\.\n/);
});

test('process.versions tells which Portico serves, and nothing where none does', async (t) => {
  const folder = project(t, { 'app.cjs': 'console.log(process.versions.portico, require("portico/package.json").version);' });
  const { stdout } = await run(folder, ['--import', 'portico/register', 'app.cjs']);
  assert.match(stdout, /^(\d+\.\d+\.\d+) \1\n$/);
  assert.match((await run(folder, ['--import', 'portico/register', 'app.cjs'], { PORTICO_DISABLE: '1' })).stdout, /^undefined /);
});

test('a PORTICO_THREADS that is no number of threads ends the start, and says what to write', async (t) => {
  const folder = project(t, { 'app.cjs': `console.log(require('portico').status().active);` });
  for (const threads of ['65', 'abc', '2.5', '-1', '1e1', ' 2']) {
    const { code, stdout, stderr } = await run(folder, ['--import', 'portico/register', 'app.cjs'], { PORTICO_THREADS: threads });
    assert.equal(code, 1, threads);
    assert.equal(stdout, '');
    assert.match(stderr, /PORTICO_THREADS is ".*": write a whole number from 0 .* to 64[^]*ERR_PORTICO_THREADS/, threads);
  }
  for (const threads of ['', '0', '64']) {
    const { stdout } = await run(folder, ['--import', 'portico/register', 'app.cjs'], { PORTICO_THREADS: threads });
    assert.equal(stdout, 'true\n', threads);
  }
});
