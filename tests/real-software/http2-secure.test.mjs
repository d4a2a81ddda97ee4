// Express and ws on an unchanged https server over HTTP/2, with curl, undici and a browser.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { Agent, request } from 'undici';
import { curl } from '../support/clients.mjs';
import { plain } from '../support/mode.mjs';
import { startApp } from '../support/start-app.mjs';

const folder = mkdtempSync(join(tmpdir(), 'portico-http2-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const [KEY, CERT] = ['key', 'crt'].map((kind) => join(folder, `server.${kind}`));
execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', '/CN=localhost',
  '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', KEY, '-out', CERT], { stdio: 'ignore' });

async function start(t, env = { PORTICO_HTTP2: '1' }) {
  const program = await startApp(t, 'real-software/apps/secure-express.cjs', { env: { KEY, CERT, ...env } });
  return { ...program, url: `https://localhost:${program.port}` };
}

describe('an https server', { skip: plain && 'no server of node:https takes HTTP/2' }, () => {
  test('curl agrees on HTTP/2 where the server may, and on HTTP/1.1 where it may not', async (t) => {
    const rows = [
      [{ PORTICO_HTTP2: '1' }, 'h2', '2.0'], [{ PROTOCOLS: 'h2 http/1.1' }, 'h2', '2.0'], [{ PORTICO_HTTP2: '1', PROTOCOLS: 'http/1.1' }, 'http/1.1', '1.1'],
      [{}, 'http/1.1', '1.1'], [{ PORTICO_HTTP2: '0' }, 'http/1.1', '1.1'],
    ];
    for (const [env, alpn, version] of rows) {
      const { url, port, stop } = await start(t, env);
      const facts = JSON.parse(await curl('--cacert', CERT, `${url}/facts`));
      assert.deepEqual(facts, { version, secure: true, host: `localhost:${port}`, ip: '127.0.0.1', alpn, servername: 'localhost' }, JSON.stringify(env));
      assert.equal(JSON.parse(await curl('--http1.1', '--cacert', CERT, `${url}/facts`)).version, '1.1');
      await stop();
    }
  });

  test('undici sends many requests on one connection', async (t) => {
    const { url } = await start(t);
    const dispatcher = new Agent({ allowH2: true, connections: 1, connect: { rejectUnauthorized: false } });
    t.after(() => dispatcher.close());
    const ask = async (id) => {
      const body = JSON.stringify({ id, text: 'x'.repeat(id * 10) });
      const answer = await request(`${url}/echo`, { dispatcher, method: 'POST', headers: { 'content-type': 'application/json' }, body });
      return (await answer.body.json()).id;
    };
    const ids = Array.from({ length: 100 }, (_, id) => id);
    assert.deepEqual(await Promise.all(ids.map(ask)), ids);
    const facts = await (await request(`${url}/facts`, { dispatcher })).body.json();
    assert.equal(facts.version, '2.0');
  });

  test('a browser loads its page and opens a WebSocket in the same connection', { skip: !existsSync('/usr/bin/chromium') }, async (t) => {
    const { url } = await start(t);
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
    t.after(() => browser.close());
    const page = await browser.newPage({ ignoreHTTPSErrors: true });
    await page.goto(url);
    assert.equal(await page.title(), 'secure');
    assert.equal(await page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol"), 'h2');
    assert.equal((await page.evaluate("fetch('/facts').then((answer) => answer.json())")).version, '2.0');
    const heard = await page.evaluate(`new Promise((resolve, reject) => {
      const socket = new WebSocket(location.origin.replace('https', 'wss') + '/socket');
      const all = [];
      socket.onopen = () => socket.send('hi');
      socket.onerror = () => reject(new Error('the socket failed'));
      socket.onmessage = ({ data }) => { if (all.push(data) === 2) { socket.close(); resolve(all); } };
    })`);
    assert.deepEqual(heard, ['hello over 2.0', 'you said hi']);
  });
});
