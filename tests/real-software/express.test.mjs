// Express 4 and 5.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { curl, raw, request } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

const page = readFileSync(new URL('pages/index.html', import.meta.url));

for (const version of ['express-4', 'express-5']) {
  describe(version, () => {
    test('answers, routes and parses', async (t) => {
      const { url } = await startApp(t, 'real-software/apps/express.cjs', { args: [version] });
      const hello = await fetch(url);
      assert.equal(hello.status, 200);
      assert.equal(hello.headers.get('x-powered-by'), 'Express');
      assert.equal(hello.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(await hello.text(), 'Hello World!');
      const user = await (await fetch(`${url}/users/a%20b?q=1&r=x`)).json();
      assert.deepEqual(user, { id: 'a b', query: { q: '1', r: 'x' }, ip: '127.0.0.1', secure: false, host: '127.0.0.1' });
      const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ deep: { list: [1, 2] } }) };
      const echo = await fetch(`${url}/echo`, json);
      assert.equal(echo.status, 201);
      assert.equal(echo.headers.get('x-echo'), 'yes');
      assert.deepEqual(await echo.json(), { deep: { list: [1, 2] } });
      const form = await fetch(`${url}/echo`, { method: 'POST', body: new URLSearchParams({ a: '1', 'b[c]': '2' }) });
      assert.deepEqual(await form.json(), { a: '1', b: { c: '2' } });
      const broken = await fetch(`${url}/echo`, { ...json, body: '{broken' });
      assert.equal(broken.status, 500);
    });

    test('serves files with ranges and validators', async (t) => {
      const { url } = await startApp(t, 'real-software/apps/express.cjs', { args: [version] });
      const whole = await request(`${url}/static/index.html`);
      assert.deepEqual(whole.body, page);
      const { etag } = whole.headers;
      const same = await request(`${url}/static/index.html`, { headers: { 'If-None-Match': etag } });
      assert.equal(same.status, 304);
      assert.equal(same.body.length, 0);
      const part = await request(`${url}/file`, { headers: { Range: 'bytes=0-14' } });
      assert.equal(part.status, 206);
      assert.equal(part.body.toString(), '<!doctype html>');
      assert.equal(part.headers['content-range'], `bytes 0-14/${page.length}`);
      const download = await request(`${url}/download`);
      assert.equal(download.headers['content-disposition'], `attachment; filename="page ?.html"; filename*=UTF-8''page%20%C5%BE.html`);
      assert.equal((await request(`${url}/static/../../../../etc/passwd`)).status, 404);
    });

    test('redirects, sets cookies, negotiates, and reports errors', async (t) => {
      const { url, port } = await startApp(t, 'real-software/apps/express.cjs', { args: [version] });
      const redirect = await fetch(`${url}/redirect`, { redirect: 'manual' });
      assert.equal(redirect.status, 302);
      assert.equal(redirect.headers.get('location'), '/');
      assert.deepEqual((await request(`${url}/cookie`)).headers['set-cookie'], ['a=1; Path=/', 'b=2; Path=/']);
      assert.equal(await (await fetch(`${url}/format`, { headers: { accept: 'application/json' } })).text(), '{"kind":"json"}');
      const thrown = await fetch(`${url}/throws`);
      assert.deepEqual([thrown.status, await thrown.text()], [500, 'thrown in a handler']);
      const rejected = await fetch(`${url}/rejects`);
      assert.deepEqual([rejected.status, await rejected.text()], [500, 'passed on']);
      const missing = await fetch(`${url}/nothing`);
      assert.deepEqual([missing.status, await missing.text()], [404, 'no such page']);
      assert.equal(await curl('-X', 'PURGE', `${url}/method`), 'PURGE');
      const head = await raw(port, 'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 200 OK\r\n.*Content-Length: 12\r\n.*\r\n\r\n$/s);
    });

    test('answers many requests on a few connections', async (t) => {
      const { url } = await startApp(t, 'real-software/apps/express.cjs', { args: [version] });
      for (let round = 0; round < 20; round += 1) {
        const answers = await Promise.all(Array.from({ length: 25 }, async (_, id) => (await fetch(`${url}/users/${round}-${id}`)).json()));
        assert.deepEqual(answers.map(({ id }) => id), Array.from({ length: 25 }, (_, id) => `${round}-${id}`));
      }
    });
  });
}
