// What `make run` starts: the example site over both schemes, its errors, and its end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../tests/support/free-port.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Starts the site. `text` grows with what it says. */
function start(t, ports) {
  const child = spawn(process.execPath, ['--import', 'portico/register', 'examples/express-site/start.mjs'], {
    cwd: root, env: { ...process.env, HTTP_PORT: ports.http, HTTPS_PORT: ports.https }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const site = { child, text: '', ended: once(child, 'exit') };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => { site.text += chunk; });
  return site;
}

async function started(t) {
  const ports = { http: await freePort(), https: await freePort() };
  const site = start(t, ports);
  while (!site.text.includes('Ctrl-C stops it')) {
    await Promise.race([once(site.child.stdout, 'data'), site.ended.then(() => { throw new Error(site.text); })]);
  }
  return { ...site, site, ports };
}

async function fetchFrom(module, port, path, { body, ...options } = {}) {
  const client = module.request({ host: 'localhost', port, path, rejectUnauthorized: false, agent: false, ...options });
  client.end(body);
  const [response] = await once(client, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

test('the site is served over both schemes, and stops cleanly on Ctrl-C', async (t) => {
  const { site, child, ports, ended } = await started(t);
  assert.match(site.text, new RegExp(`http://localhost:${ports.http}\\n.*https://localhost:${ports.https}\\n`));
  if (!process.env.PORTICO_DISABLE) assert.match(site.text, /Served by Portico on Node\.js/);

  for (const [module, port] of [[http, ports.http], [https, ports.https]]) {
    for (const [path, type, expected] of [
      ['/', 'text/html', /Six boats/], ['/boats', 'text/html', /Spoonbill/], ['/boats/teal', 'text/html', /Cedar strip/],
      ['/book?boat=teal', 'text/html', /value="teal" selected/], ['/site.css', 'text/css', /--sea/], ['/mark.svg', 'image/svg', /<svg/],
      ['/api/boats/teal', 'application/json', /"slug":"teal"/],
    ]) {
      const { status, headers, text } = await fetchFrom(module, port, path);
      assert.equal(status, 200, path);
      assert.ok(headers['content-type'].startsWith(type), path);
      assert.match(text, expected);
    }
    assert.equal((await fetchFrom(module, port, '/nowhere')).status, 404);
    assert.equal((await fetchFrom(module, port, '/api/nowhere')).status, 404);
  }
  assert.match((await fetchFrom(https, ports.https, '/about')).text, /HTTP\/1\.1 over TLSv1\.3/);
  await booking(ports);

  const stream = http.get({ host: 'localhost', port: ports.http, path: '/api/level', agent: false });
  const [events] = await once(stream, 'response');
  assert.match(String((await once(events, 'data'))[0]), /^data: \d/);
  const over = once(events, 'end');
  child.kill('SIGINT');
  await over;
  assert.deepEqual(await ended, [0, null]);
  assert.match(site.text, /Stopping[^]*Stopped/);
});

async function booking(ports) {
  const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const wrong = await fetchFrom(https, ports.https, '/book', { ...form, body: 'boat=teal&crew=9&name=A' });
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /Teal takes 2 at most/);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const right = await fetchFrom(https, ports.https, '/book', { ...form, body: new URLSearchParams({ boat: 'teal', crew: '2', name: 'Ann <b>', day: tomorrow }).toString() });
  assert.equal(right.status, 303);
  const page = await fetchFrom(https, ports.https, right.headers.location);
  assert.match(page.text, /See you on the water, Ann &lt;b&gt;/);
  const taken = await fetchFrom(https, ports.https, '/api/bookings', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ boat: 'teal', crew: 1, name: 'Bob', day: tomorrow }),
  });
  assert.equal(taken.status, 422);
  assert.deepEqual(JSON.parse(taken.text).errors, { day: 'Teal is taken on that day.' });
}

test('a port that is taken is said in one sentence', async (t) => {
  const other = net.createServer().listen(0);
  await once(other, 'listening');
  t.after(() => other.close());
  const { port } = other.address();
  const site = start(t, { http: await freePort(), https: port });
  assert.deepEqual(await site.ended, [1, null]);
  assert.match(site.text, new RegExp(`Port ${port} is taken by another program\\. .*make run HTTPS_PORT=${port + 1}`));
  assert.doesNotMatch(site.text, /\n\s+at /);
});

test('a port that is none is said in one sentence', async (t) => {
  const site = start(t, { http: 'eighty', https: 1 });
  assert.deepEqual(await site.ended, [1, null]);
  assert.match(site.text, /HTTP_PORT must be a port number from 1 to 65535; it is 'eighty'\./);
});
