// The clients of nghttp2: many streams on few connections, uploads, and the graceful end.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.mjs';
import { plain } from '../support/mode.mjs';
import { startApp } from '../support/start-app.mjs';
import { startHost } from '../support/start-host.mjs';

const run = promisify(execFile);
const APP = 'real-software/apps/h2spec.cjs';
const REQUESTS = 5000;

describe('clients of nghttp2', { skip: plain && 'no server of node:http takes HTTP/2' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-nghttp2-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const upload = join(folder, 'upload');
  writeFileSync(upload, Buffer.alloc(300_000, 'u'));

  async function load(url, ...flags) {
    const { stdout } = await run('h2load', ['-n', `${REQUESTS}`, ...flags, url], { timeout: 120_000 });
    assert.match(stdout, new RegExp(`${REQUESTS} succeeded, 0 failed, 0 errored, 0 timeout`));
  }

  for (const threads of ['0', '1']) {
    test(`streams of many connections${threads === '1' ? ', on a thread' : ''}`, async (t) => {
      const { url } = await startApp(t, APP, { env: { PORTICO_HTTP2: '1', PORTICO_THREADS: threads } });
      await load(url, '-c', '10', '-m', '100');
      await load(url, '-c', '1', '-m', '1');
      const { stdout } = await run('h2load', ['-n', '200', '-c', '4', '-m', '20', '-d', upload, url], { timeout: 120_000 });
      assert.match(stdout, /200 succeeded, 0 failed/);
      const verbose = await run('nghttp', ['-nv', '-d', upload, url], { timeout: 30_000 });
      assert.match(verbose.stdout, /:status: 200/);
    });
  }

  test('streams spread over two processes of a host', async (t) => {
    const port = await freePort();
    const host = await startHost(t, { configuration: `[[listener]]\naddress = "*:${port}"\nprotocols = ["h2"]\n` });
    for (let count = 0; count < 2; count++) await host.member(APP, `http://*:${port}/`);
    // h2load does not send again what is refused because it came before it knew how many streams there may be.
    await load(`http://127.0.0.1:${port}/`, '-c', '4', '-m', '32');
    const { stdout } = await host.cli('status');
    const shares = [...stdout.matchAll(/ ([0-9]+) requests, .* in flight/g)].map(([, count]) => Number(count));
    assert.ok(shares.length === 2 && shares.every((share) => share > REQUESTS / 10), stdout);
  });
});
