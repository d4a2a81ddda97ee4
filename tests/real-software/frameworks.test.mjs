// Fastify, Koa, hapi and NestJS.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { once } from 'node:events';
import { curl, eventually, raw, request } from '../support/clients.mjs';
import { compile } from '../support/compile.mjs';
import { testsFolder } from '../support/mode.mjs';
import { startApp } from '../support/start-app.mjs';

const json = (body) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

describe('Fastify 5', () => {
  const app = 'real-software/apps/fastify.mjs';

  test('answers, validates and serialises', async (t) => {
    const { url } = await startApp(t, app);
    const hello = await fetch(url);
    assert.deepEqual(await hello.json(), { hello: 'world' });
    assert.equal(hello.headers.get('x-hook'), 'hook');
    assert.equal(hello.headers.get('keep-alive'), 'timeout=10');
    assert.deepEqual(await (await fetch(`${url}/user/42`)).json(), { id: 42, protocol: 'http', ip: '127.0.0.1' });
    assert.equal((await fetch(`${url}/user/x`)).status, 400);
    const made = await fetch(`${url}/echo`, json({ name: 'a' }));
    assert.deepEqual([made.status, await made.json()], [201, { name: 'a' }]);
    const refused = await fetch(`${url}/echo`, json({ other: 'a' }));
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).message, /name/);
    const csv = await fetch(`${url}/scope/csv`, { method: 'POST', headers: { 'content-type': 'text/csv' }, body: 'a,b' });
    assert.deepEqual(await csv.json(), ['a', 'b']);
    assert.equal((await fetch(`${url}/scope/csv`, { method: 'POST', headers: { 'content-type': 'x/y' }, body: 'a' })).status, 415);
  });

  test('streams, hijacks, sends trailers and errors', async (t) => {
    const { url, port } = await startApp(t, app);
    assert.equal(await curl(`${url}/stream`), 'one two three');
    assert.equal(await curl(`${url}/buffer`), 'bytes');
    assert.equal(await curl(`${url}/hijack`), 'raw');
    assert.deepEqual((await request(`${url}/cookies`)).headers['set-cookie'], ['a=1', 'b=2']);
    const teapot = await fetch(`${url}/throws`);
    assert.deepEqual([teapot.status, (await teapot.json()).message], [418, 'teapot']);
    const trailer = await request(`${url}/trailer`);
    assert.deepEqual([trailer.body.toString(), trailer.trailers], ['data', { 'x-sum': 'sum' }]);
    assert.match(await raw(port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request\r\n.*"error":"Bad Request"/s);
  });

  test('closes with grace', async (t) => {
    const { url, child, output } = await startApp(t, app);
    await (await fetch(url)).text();
    child.kill('SIGINT');
    const [status] = await once(child, 'exit');
    assert.equal(status, 0);
    await eventually(() => output().includes('closed'), 'the close is reported');
  });
});

describe('Koa 3', () => {
  const app = 'real-software/apps/koa.cjs';

  test('runs its middleware', async (t) => {
    const { url, port } = await startApp(t, app);
    const hello = await fetch(url);
    assert.equal(await hello.text(), 'Hello Koa');
    assert.equal(hello.headers.get('x-response-time'), 'measured');
    const view = await (await fetch(`${url}/json?a=1`)).json();
    assert.deepEqual(view, { query: { a: '1' }, ip: '127.0.0.1', protocol: 'http', fresh: false, host: `127.0.0.1:${port}` });
    assert.match(await curl(`${url}/stream`), /^<!doctype html>/);
    assert.equal((await fetch(`${url}/empty`)).status, 204);
    const cookies = await request(`${url}/cookie`, { headers: { Cookie: 'sent=me' } });
    assert.equal(cookies.headers['set-cookie'].length, 2);
    assert.equal((await fetch(`${url}/missing`)).status, 404);
    const forbidden = await fetch(`${url}/throws`);
    assert.deepEqual([forbidden.status, await forbidden.text()], [403, 'not for you']);
    assert.equal((await request(`${url}/etag`, { headers: { 'If-None-Match': '"tag"' } })).status, 304);
    assert.equal(await curl(`${url}/raw`), 'by hand');
    assert.equal(await curl(`${url}/web`), 'from a blob');
  });

  test('pipes a request back', async (t) => {
    const { url } = await startApp(t, app);
    const body = 'x'.repeat(1_000_000);
    const echo = await fetch(`${url}/echo`, { method: 'POST', body, headers: { 'content-type': 'text/plain' } });
    assert.equal(await echo.text(), body);
  });
});

describe('hapi', () => {
  const app = 'real-software/apps/hapi.cjs';

  test('answers, streams and keeps state', async (t) => {
    const { url } = await startApp(t, app);
    const hello = await fetch(url);
    assert.deepEqual([await hello.text(), hello.headers.get('x-ext')], ['Hello World!', 'yes']);
    assert.deepEqual(await (await fetch(`${url}/hello/bob`)).json(), { user: 'bob', from: '127.0.0.1' });
    const echo = await fetch(`${url}/echo`, json({ a: [1] }));
    assert.deepEqual([echo.status, await echo.json()], [201, { a: [1] }]);
    assert.equal(await curl(`${url}/stream`), 'one two');
    const upload = await fetch(`${url}/upload`, { method: 'POST', body: Buffer.alloc(5 << 20) });
    assert.deepEqual(await upload.json(), { length: 5 << 20 });
    const first = await request(`${url}/state`);
    const [cookie] = first.headers['set-cookie'];
    const second = await request(`${url}/state`, { headers: { Cookie: cookie.split(';')[0] } });
    assert.deepEqual(JSON.parse(second.body), { a: 1 });
    assert.equal((await fetch(`${url}/throws`)).status, 500);
    assert.equal((await fetch(`${url}/no/such`)).status, 404);
  });

  test('stops with a request in flight answered', async (t) => {
    const { url, child, output } = await startApp(t, app);
    await (await fetch(url)).text();
    child.kill('SIGINT');
    const [status] = await once(child, 'exit');
    assert.equal(status, 0);
    await eventually(() => output().includes('closed'), 'the stop is reported');
  });
});

describe('NestJS', () => {
  test('runs controllers, pipes, guards, interceptors and events', async (t) => {
    const app = compile('real-software/apps/nest.ts');
    t.after(() => rmSync(join(testsFolder, app)));
    const { url } = await startApp(t, app);
    assert.deepEqual(await (await fetch(`${url}/cats/1?q=x`)).json(), { data: { cat: { id: 1, name: 'Tom' }, q: 'x' } });
    assert.equal((await fetch(`${url}/cats/nan`)).status, 400);
    const made = await fetch(`${url}/cats`, json({ name: 'Kit' }));
    assert.deepEqual([made.status, made.headers.get('x-made'), await made.json()], [202, 'yes', { name: 'Kit' }]);
    const refused = await fetch(`${url}/cats/secret/place`);
    assert.deepEqual([refused.status, (await refused.json()).message], [403, 'go away']);
    assert.equal(await curl('-H', 'Authorization: let me in', `${url}/cats/secret/place`), 'secret');
    assert.equal(await curl(`${url}/cats/file/stream`), 'file content');
    const events = await curl('-N', `${url}/cats/events/stream`);
    assert.deepEqual(events.match(/data: .*/g), [0, 1, 2].map((number) => `data: {"number":${number}}`));
  });
});
