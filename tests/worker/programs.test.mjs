// Real programs under `portico run`: frameworks, npm, clusters, threads; and those that close their server when they are told to
// end, which must come to their end by themselves while every request is answered.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { curl, eventually } from '../support/clients.mjs';
import { startLoad } from '../support/load.mjs';
import { testsFolder } from '../support/mode.mjs';
import { startRun } from '../support/start-run.mjs';

const app = (name) => join(testsFolder, 'worker/apps', name);
const software = (name) => join(testsFolder, 'real-software/apps', name);
const [major] = process.versions.node.split('.').map(Number);

describe('programs', () => {
  const PROGRAMS = {
    'an ES module with a top-level await': { words: [app('await.mjs')], answer: /^from a module$/ },
    Express: { words: [software('express.cjs'), 'express-5'], answer: /^Hello World!$/ },
    Fastify: { words: [software('fastify.mjs')], answer: /^{"hello":"world"}$/ },
    Koa: { words: [software('koa.cjs')], answer: /^Hello Koa$/ },
    hapi: { words: [software('hapi.cjs')], path: '/hello/ann', answer: /"user":"ann"/ },
    'a cluster': { words: [app('families.cjs'), 'cluster'], answer: /^\d+$/ },
    'a server in a thread': { words: [app('families.cjs'), 'thread'], answer: /^\d+$/ },
  };
  if (major >= 24) PROGRAMS['TypeScript, by Node’s own type stripping'] = { words: [app('typed.ts')], answer: /^from TypeScript$/ };
  for (const [name, { words, path = '/', answer }] of Object.entries(PROGRAMS)) {
    test(name, async (t) => {
      const run = await startRun(t, words);
      assert.match(await curl(`${run.url}${path}`), answer);
      await run.kill('SIGTERM');
      assert.deepEqual(await run.ended, [0, null], run.output());
    });
  }

  test('a child that listens where its parent does is told that the port is in use', async (t) => {
    const run = await startRun(t, [app('families.cjs'), 'fork twice'], { ready: /refused EADDRINUSE listen/ });
    const [, parent] = /listening (\d+)/.exec(run.output());
    assert.equal(await curl(run.url), parent);
  });

  for (const command of ['npm start', '.']) {
    test(`\`portico run ${command}\``, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'portico run '));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'shop', version: '1.0.0', scripts: { start: 'node server.js' } }));
      writeFileSync(join(folder, 'server.js'), 'require("node:http").createServer((req, res) => res.end("npm")).listen(process.env.PORT, () => console.log("listening"));');
      const run = await startRun(t, [command], { cwd: folder, env: { npm_config_update_notifier: 'false' } });
      assert.equal(await curl(run.url), 'npm');
      await run.kill('SIGTERM');
      assert.deepEqual(await run.ended, [0, null], run.output());
    });
  }
});

describe('replacing', () => {
  const pidsIn = (output, word) => [...output.matchAll(new RegExp(`${word} (\\d+)`, 'g'))].map(([, pid]) => pid);

  test('workers are replaced again and again under load, and no request fails', { timeout: 180_000 }, async (t) => {
    const run = await startRun(t, [app('graceful.cjs')], { instances: 2 });
    const load = startLoad(run.url, {
      connections: 8, paths: ['/', '/slow?ms=30', '/large', '/'],
      check: (status, body, path) => status === 200 && (path === '/large' ? body.length === 1 << 20 : /^\d+$/.test(body)),
    });
    for (let round = 1; round <= 5; round++) {
      const before = load.result.sent;
      run.child.kill('SIGHUP');
      await eventually(() => pidsIn(run.output(), 'ends').length >= round * 2, `round ${round}: both have been replaced`, 60_000);
      await eventually(() => load.result.sent > before + 20, 'requests go on');
    }
    const { sent, failures, statuses } = await load.stop();
    assert.deepEqual(failures, []);
    assert.deepEqual([...statuses.keys()], [200]);
    assert.ok(sent > 100, `${sent} requests`);
    const started = pidsIn(run.output(), 'listening');
    assert.equal(new Set(started).size, 12);
    // Each was asked once, closed its server and came to its end by itself.
    for (const word of ['told to end', 'closed', 'ends']) assert.equal(pidsIn(run.output(), word).length, 10, word);
  });

  test('what a worker has begun is finished when all are told to end', { timeout: 60_000 }, async (t) => {
    const run = await startRun(t, [app('graceful.cjs')]);
    const slow = curl(`${run.url}/slow?ms=1500`);
    await eventually(async () => /^\d+$/.test(await curl(run.url)), 'it serves');
    await new Promise((resolve) => setTimeout(resolve, 500)); // until curl's request is there
    run.child.kill('SIGTERM');
    assert.match(await slow, /^\d+$/);
    assert.deepEqual(await run.ended, [0, null], run.output());
  });
});
