// compression, body-parser, multer, serve-static, server-sent events, and a page in a browser.

import assert from 'node:assert/strict';
import { createWriteStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { chromium } from 'playwright-core';
import { curl, eventually, request } from '../support/clients.mjs';
import { peakBytes, resetPeak, residentBytes } from '../support/process-facts.mjs';
import { startApp } from '../support/start-app.mjs';

const APP = 'real-software/apps/middleware.cjs';
const UPLOAD_BYTES = 100 << 20;

async function start(t) {
  const uploads = mkdtempSync(join(tmpdir(), 'portico-uploads-'));
  t.after(() => rmSync(uploads, { recursive: true, force: true }));
  return { uploads, ...(await startApp(t, APP, { env: { UPLOADS: uploads } })) };
}

test('compression encodes what is large, and flushes when told', async (t) => {
  const { url } = await start(t);
  const gzip = await request(`${url}/text`, { headers: { 'Accept-Encoding': 'gzip' } });
  assert.equal(gzip.headers['content-encoding'], 'gzip');
  assert.equal(gzip.headers['transfer-encoding'], 'chunked');
  assert.equal(zlib.gunzipSync(gzip.body).toString(), 'compress me '.repeat(1000));
  assert.equal(await curl('--compressed', `${url}/text`), 'compress me '.repeat(1000));
  const plainText = await request(`${url}/text`);
  assert.equal(plainText.headers['content-encoding'], undefined);
  assert.equal((await request(`${url}/small`, { headers: { 'Accept-Encoding': 'gzip' } })).headers['content-encoding'], undefined);

  const [response] = await once(http.get(`${url}/flushed`, { headers: { 'Accept-Encoding': 'gzip' } }), 'response');
  const started = performance.now();
  const body = response.pipe(zlib.createGunzip());
  const [first] = await once(body, 'data');
  assert.ok(performance.now() - started < 250, 'the first part comes before the answer ends');
  let text = first.toString();
  for await (const part of body) text += part;
  assert.equal(text, `${'first '.repeat(50)}second`);
});

test('body-parser reads JSON, forms, text and bytes, and refuses what is too large', async (t) => {
  const { url } = await start(t);
  const post = async (path, type, body) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': type }, body });
    return [response.status, await response.text()];
  };
  assert.deepEqual(await post('/json', 'application/json', '{"a":"ž"}'), [200, '{"a":"ž"}']);
  assert.deepEqual(await post('/form', 'application/x-www-form-urlencoded', 'a=1&b=2'), [200, '{"a":"1","b":"2"}']);
  assert.deepEqual(await post('/text', 'text/plain', 'words'), [200, '{"text":"words"}']);
  assert.deepEqual(await post('/raw', 'application/octet-stream', Buffer.alloc(20 << 20)), [200, `{"length":${20 << 20},"buffer":true}`]);
  assert.equal((await post('/json', 'application/json', JSON.stringify({ a: 'x'.repeat(20_000) })))[0], 413);
  assert.equal((await post('/json', 'application/json', '{"a":'))[0], 400);
  const deflated = await request(`${url}/json`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip', 'Transfer-Encoding': 'chunked' },
    body: zlib.gzipSync('{"zipped":true}'),
  });
  assert.equal(deflated.body.toString(), '{"zipped":true}');
});

test('multer stores 100 MB in constant memory', async (t) => {
  const { url, pid, uploads } = await start(t);
  const file = join(uploads, 'source');
  const source = createWriteStream(file);
  for (let written = 0; written < UPLOAD_BYTES; written += 1 << 20) {
    if (!source.write(Buffer.alloc(1 << 20, written & 0xff))) await once(source, 'drain');
  }
  source.end();
  await once(source, 'close');
  await curl('-F', 'field=value', '-F', `file=@${file};filename=warm.bin`, `${url}/upload`); // warm: code and pools
  const before = residentBytes(pid);
  resetPeak(pid);
  const answer = JSON.parse(await curl('-F', 'field=value', '-F', `file=@${file};filename=big.bin`, `${url}/upload`));
  assert.deepEqual(answer, { size: UPLOAD_BYTES, name: 'big.bin', field: 'value' });
  const grown = (peakBytes(pid) - before) / (1 << 20);
  t.diagnostic(`resident memory grew by ${grown.toFixed(1)} MB`);
  assert.ok(grown < 48, `resident memory grew by ${grown.toFixed(1)} MB during the upload`);
  assert.deepEqual(readdirSync(uploads), ['source']);
});

test('multer takes several files and refuses one that is too large', async (t) => {
  const { url } = await start(t);
  const form = new FormData();
  form.append('files', new Blob(['one']), '1.txt');
  form.append('files', new Blob(['three']), '2.txt');
  const taken = await fetch(`${url}/small-upload`, { method: 'POST', body: form });
  assert.deepEqual(await taken.json(), [['1.txt', 3], ['2.txt', 5]]);
  const large = new FormData();
  large.append('files', new Blob(['x'.repeat(2000)]), 'large.txt');
  const refused = await fetch(`${url}/small-upload`, { method: 'POST', body: large });
  assert.deepEqual([refused.status, await refused.text()], [400, 'File too large']);
});

test('serve-static serves files, ranges, validators and redirects', async (t) => {
  const { url } = await start(t);
  const page = readFileSync(new URL('pages/index.html', import.meta.url));
  const whole = await request(`${url}/`);
  assert.deepEqual(whole.body, page);
  assert.equal(whole.headers['cache-control'], 'public, max-age=86400');
  assert.equal(whole.headers['x-static'], '1');
  assert.equal(whole.headers['content-length'], String(page.length));
  const part = await request(`${url}/index.html`, { headers: { Range: 'bytes=-8' } });
  assert.deepEqual([part.status, part.body.toString()], [206, page.subarray(-8).toString()]);
  const beyond = await request(`${url}/index.html`, { headers: { Range: 'bytes=999999-' } });
  assert.equal(beyond.status, 416);
  const since = await request(`${url}/index.html`, { headers: { 'If-Modified-Since': whole.headers['last-modified'] } });
  assert.equal(since.status, 304);
  const head = await curl('--head', `${url}/style.css`);
  assert.match(head, /content-type: text\/css/i);
});

test('server-sent events arrive one by one, and the server learns that the client left', async (t) => {
  const { url, output } = await start(t);
  const [response] = await once(http.get(`${url}/events`, { headers: { 'Last-Event-ID': '41' } }), 'response');
  assert.equal(response.headers['content-type'], 'text/event-stream');
  let text = '';
  for await (const part of response) {
    text += part;
    if (text.includes('id: 45')) break;
  }
  assert.match(text, /^id: 42\nevent: tick\ndata: 42\n\nid: 43\n/);
  await eventually(() => output().includes('event stream closed'), 'the server sees the client leave');
});

test('a browser shows a page with its style, script, POST and event stream', { skip: !existsSync('/usr/bin/chromium') }, async (t) => {
  const { url } = await start(t);
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  t.after(() => browser.close());
  const page = await browser.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('requestfailed', (failed) => {
    if (!failed.url().endsWith('/events')) problems.push(failed.url()); // the page closes its event stream itself
  });
  await page.goto(url);
  const loaded = () => page.waitForFunction(
    "document.getElementById('answer').textContent === 'hello and tick 1'", null, { timeout: 20_000 });
  await loaded();
  assert.equal(await page.title(), 'A page');
  assert.equal(await page.evaluate("getComputedStyle(document.querySelector('h1')).color"), 'rgb(1, 2, 3)');
  for (let reload = 0; reload < 3; reload += 1) {
    await page.reload();
    await loaded(); // a reload would abort the POST of the page before
  }
  assert.deepEqual(problems, []);
});
