// `portico run`: an unchanged program, its processes, and what becomes of requests while they are replaced.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startProgram } from '../support/child.mjs';
import { curl, eventually } from '../support/clients.mjs';
import { freePort } from '../support/free-port.mjs';
import { startLoad } from '../support/load.mjs';
import { testsFolder } from '../support/mode.mjs';

const program = process.env.PORTICO_PROGRAM ?? join(testsFolder, '../target/release/portico');
const served = join(testsFolder, 'worker/apps/served.mjs');

/** A program under `portico run`; resolves when its first worker listens. */
async function run(t, options, command, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-run-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const socket = join(folder, 'host.sock');
  const running = await startProgram([program, 'run', '--socket', socket, ...options, ...command], {
    ready: /listening/, started: ({ kill }) => t.after(() => kill('SIGTERM')), env: { PATH: process.env.PATH, PORT: String(port), ...env },
  });
  const portico = async (...args) => (await promisify(execFile)(program, [...args, '--socket', socket])).stdout;
  const workers = async () => JSON.parse(await portico('list', '--json'))[0].workers;
  const ready = async () => (await workers()).filter(({ state }) => state === 'ready').map(({ pid }) => pid);
  return { ...running, url: `http://127.0.0.1:${port}`, portico, ready };
}

describe('portico run', () => {
  test('serves an ES module with top-level await, with its arguments, on the port that it listens on', async (t) => {
    const { url } = await run(t, [], [served, '--', '--colour', 'red']);
    assert.match(await curl(`${url}/`), /^\d+ 0 --colour red$/);
  });

  test('serves a folder with a package.json, by npm', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-package-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { start: 'node app.js' } }));
    writeFileSync(join(folder, 'app.js'), 'require("http").createServer((q, s) => s.end("npm")).listen(process.env.PORT, () => console.log("listening"))');
    const { url, kill, ended } = await run(t, [], [folder], { HOME: folder });
    assert.equal(await curl(`${url}/`), 'npm');
    await kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });

  test('replaces processes under load, and no request fails', async (t) => {
    const { url, portico, ready, output } = await run(t, ['--instances', '2'], [served]);
    await eventually(async () => (await ready()).length === 2, 'two workers');
    const load = startLoad(url, { connections: 4, paths: ['/', '/slow'] });
    for (let round = 0; round < 3; round++) {
      const before = await ready();
      await portico('reload', 'served');
      const now = await ready();
      assert.ok(now.length === 2 && now.every((pid) => !before.includes(pid)), `${before} ${now}`);
    }
    const before = await ready();
    assert.match(await curl(`${url}/recycle`), /^\d+/);
    await eventually(async () => {
      const now = await ready();
      return now.length === 2 && now.filter((pid) => before.includes(pid)).length === 1;
    }, 'one of the workers to be replaced');
    const { sent, statuses, failures } = await load.stop();
    assert.deepEqual(failures, [], output());
    assert.equal(statuses.get(200), sent);
  });

  test('replaces a process that ends by itself, and its request is the only one that is lost', async (t) => {
    const { url, ready, output } = await run(t, [], [served]);
    const [before] = await ready();
    assert.match(await curl(`${url}/crash`, '-o', '/dev/null', '-w', '%{http_code}'), /^502$/);
    // Waits for the next one.
    const [pid] = (await curl(`${url}/`)).split(' ');
    assert.notEqual(Number(pid), before);
    assert.match(output(), /exit code 7/);
  });
});
