// A Next.js production server: `next start`, and the custom server of its documentation.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import http from 'node:http';
import { before, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { chromium } from 'playwright-core';
import { buildNext, NEXT } from '../support/build-next.mjs';
import { request } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

const env = { NEXT_TELEMETRY_DISABLED: '1' };
let site;
before(async () => {
  site = await buildNext();
});

const STARTS = {
  'next start': (t) => startApp(t, NEXT, { args: ['start', site, '--port', '0', '--hostname', '127.0.0.1'], env, ready: /Local:\s+http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/ }),
  'a custom server': (t) => startApp(t, 'real-software/apps/next-custom.mjs', { args: [site], env }),
};

for (const [name, start] of Object.entries(STARTS)) {
  describe(`Next.js, ${name}`, () => {
    test('serves pages, routes and files', async (t) => {
      const { url } = await start(t);
      const page = await fetch(url);
      assert.equal(page.status, 200);
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
      const html = await page.text();
      assert.match(html, /Built at build time/);
      const item = await fetch(`${url}/items/7?q=find`, { headers: { 'user-agent': 'tester' } });
      assert.match(await item.text(), /item 7, q find, agent tester/);
      const api = await request(`${url}/api/echo?x=1`);
      assert.deepEqual([JSON.parse(api.body), api.headers['set-cookie']], [{ url: '?x=1' }, ['a=1']]);
      const posted = await fetch(`${url}/api/echo`, { method: 'POST', body: 'shout' });
      assert.deepEqual([posted.status, await posted.text()], [201, 'SHOUT']);
      assert.equal(await (await fetch(`${url}/static.txt`)).text(), 'a static file\n');
      assert.equal((await fetch(`${url}/missing`)).status, 404);
      const [script] = html.match(/\/_next\/static\/[^"]+\.js/);
      const asset = await request(url + script, { headers: { 'Accept-Encoding': 'gzip' } });
      assert.equal(asset.status, 200);
      assert.match(asset.headers['cache-control'], /immutable/);
      assert.ok(zlib.gunzipSync(asset.body).length > 100);
      const conditional = await request(`${url}/static.txt`, { headers: { 'If-None-Match': (await fetch(`${url}/static.txt`)).headers.get('etag') } });
      assert.equal(conditional.status, 304);
    });

    test('streams what is late', async (t) => {
      const { url } = await start(t);
      await (await fetch(`${url}/stream`)).text(); // warm
      const [response] = await once(http.get(`${url}/stream`), 'response');
      let text = '';
      let early = null;
      const started = performance.now();
      for await (const part of response) {
        text += part;
        if (early === null && text.includes('the early part')) early = performance.now() - started;
      }
      assert.ok(early < 350, `the early part came after ${early} ms`);
      assert.match(text, /the late part/);
    });

    test('a browser hydrates the page', { skip: !existsSync('/usr/bin/chromium') }, async (t) => {
      const { url } = await start(t);
      const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
      t.after(() => browser.close());
      const page = await browser.newPage();
      await page.goto(url, { waitUntil: 'networkidle' });
      await page.click('button');
      assert.equal(await page.textContent('button'), 'clicked 1');
    });
  });
}
