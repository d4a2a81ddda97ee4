// Every case of h2spec, over TLS and in the clear, embedded and behind a host.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.mjs';
import { plain, testsFolder } from '../support/mode.mjs';
import { startApp } from '../support/start-app.mjs';
import { startHost } from '../support/start-host.mjs';

const run = promisify(execFile);
const APP = 'real-software/apps/h2spec.cjs';
const CASES = 146; // with the strict ones
// A server of both versions takes what is no preface for HTTP/1, and answers 400; h2spec waits for the connection's end,
// which over TLS, where the version is known, it gets.
const IN_THE_CLEAR = ['Sends invalid connection preface'];

describe('h2spec', { skip: plain && 'no server of node:http takes HTTP/2' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-h2spec-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const [KEY, CERT] = ['key', 'crt'].map((kind) => join(folder, `server.${kind}`));
  const program = join(folder, 'h2spec');

  before(async () => {
    execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost', '-keyout', KEY, '-out', CERT], { stdio: 'ignore' });
    const source = join(testsFolder, '../conformance/h2spec');
    await run('go', ['build', '-o', program, 'github.com/summerwind/h2spec/cmd/h2spec'], { cwd: source, timeout: 300_000 });
  });

  /** Runs all cases. Those that fail must be `expected`. */
  async function conforms(port, isSecure, expected = []) {
    const report = join(folder, `report-${port}.xml`);
    const flags = ['-h', 'localhost', '-p', `${port}`, '-S', '-o', '5', '-j', report, ...(isSecure ? ['-t', '-k'] : [])];
    await run(program, flags, { timeout: 240_000, maxBuffer: 1 << 24 }).catch(() => undefined);
    const text = readFileSync(report, 'utf8');
    const cases = [...text.matchAll(/<testcase [^>]*classname="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs)];
    assert.ok(cases.length >= CASES, `${cases.length} cases`);
    const failed = cases.filter(([, , body]) => /<failure|<error/.test(body ?? '')).map(([, name]) => name);
    assert.deepEqual(failed, expected);
  }

  for (const threads of ['0', '1']) {
    test(`over TLS, embedded${threads === '1' ? ', on a thread' : ''}`, async (t) => {
      const { port } = await startApp(t, APP, { env: { PORTICO_HTTP2: '1', PORTICO_THREADS: threads, KEY, CERT } });
      await conforms(port, true);
    });
  }

  test('in the clear, embedded', async (t) => {
    const { port } = await startApp(t, APP, { env: { PORTICO_HTTP2: '1' } });
    await conforms(port, false, IN_THE_CLEAR);
  });

  test('over TLS, behind a host', async (t) => {
    const port = await freePort();
    const host = await startHost(t, { configuration: `[[certificate]]\nport = ${port}\ncertificate = "${CERT}"\nkey = "${KEY}"\n` });
    await host.member(APP, `https://*:${port}/`);
    await conforms(port, true);
  });

  test('in the clear, behind a host', async (t) => {
    const port = await freePort();
    const host = await startHost(t, { configuration: `[[listener]]\naddress = "*:${port}"\nprotocols = ["h2", "http/1.1"]\n` });
    await host.member(APP, `http://*:${port}/`);
    await conforms(port, false, IN_THE_CLEAR);
  });
});
