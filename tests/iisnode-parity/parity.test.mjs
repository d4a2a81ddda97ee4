// What iisnode's functional tests assert, in our words; the number is that of the test there. README.md lists all of them.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { before, after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { eventually, raw, request } from '../support/clients.mjs';
import { freePort } from '../support/free-port.mjs';
import { testsFolder } from '../support/mode.mjs';
import { portico, startHost } from '../support/start-host.mjs';
import { startRun } from '../support/start-run.mjs';
import { startWorker } from '../support/start-worker.mjs';

const MEGABYTES_30 = 30 * 1024 * 1024;
const MEGABYTES_31 = 31 * 1024 * 1024;

/** An application at `/app/` of a host: its address. `instances` processes, with `env` in their environment. */
async function startSite(t, file = 'site.cjs', { instances = 1, env = {} } = {}) {
  const host = await startHost(t);
  const port = await freePort();
  for (let instance = 0; instance < instances; instance++) {
    await startWorker(host, [process.execPath, join(testsFolder, 'iisnode-parity/apps', file)], {
      id: `site.${instance}`, env: { PORT: String(port), ...env }, listen: { [port]: [`http://*:${host.port}/app/`] },
    });
  }
  return { host, url: `${host.url}/app` };
}

const textOf = async (...words) => String((await request(...words)).body);

describe('iisnode’s functional tests', () => {
  /** What the tests have in common that ask one process. */
  let site;
  const ends = [];
  before(async () => {
    site = await startSite({ after: (end) => ends.unshift(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  test('100: a page', async () => {
    const { status, body, headers } = await request(`${site.url}/hello`);
    assert.deepEqual([status, String(body)], [200, 'Hello, world!']);
    assert.equal(headers['iisnode-debug'], undefined);
    assert.equal(headers['content-type'], 'text/html');
  });

  test('101: requests one after another reach the same process', async () => {
    const bodies = [];
    for (let index = 0; index < 5; index++) bodies.push(await textOf(`${site.url}/count`));
    assert.deepEqual(bodies, [1, 2, 3, 4, 5].map((number) => `Hello, world ${number}`));
  });

  test('103: every URL below the application reaches it as the client sent it', async () => {
    for (const path of ['url', 'url/', 'url.js', 'url?foo=bar', 'url/a/b/c', 'url/a/b/c/', 'url/a/b?foo=bar']) {
      assert.equal(await textOf(`${site.url}/${path}`), `/app/${path}`);
    }
  });

  test('104: a body that is echoed', async () => {
    assert.equal(await textOf(`${site.url}/echo`, { method: 'POST', body: 'A simple body' }), 'A simple body');
  });

  test('113: with a length, in one chunk, in ten', async () => {
    const length = await request(`${site.url}/encoding`);
    assert.deepEqual([length.headers['content-length'], String(length.body)], ['23', 'content-length response']);
    for (const [query, body] of [['onechunk', 'chunked response'], ['tenchunks', '0123456789']]) {
      const answer = await request(`${site.url}/encoding?${query}`);
      assert.deepEqual([answer.headers['transfer-encoding'], String(answer.body)], ['chunked', body]);
    }
  });

  test('115: header fields of one’s own, empty ones too', async () => {
    for (const [given, back] of [['foobar', 'foobar'], ['', '']]) {
      const { headers, body } = await request(`${site.url}/fields`, { method: 'POST', headers: { 'x-foo': given, 'x-baz': 'baz' } });
      assert.deepEqual([String(body), headers['x-bar'], headers['x-got-foo']], ['Hello, world', back, 'true']);
    }
  });

  test('118: the program sees the client’s address; X-Forwarded-For is what the client wrote', async () => {
    for (const headers of [{}, { 'x-forwarded-for': '1.1.1.1' }]) {
      const { address, forwarded } = JSON.parse(await textOf(`${site.url}/client`, { headers }));
      assert.match(address, /^(::ffff:)?127\.0\.0\.1$/);
      assert.equal(forwarded, headers['x-forwarded-for'] ?? null);
    }
  });

  test('122: repeated fields of an answer, with the program’s capitals', async () => {
    const { host } = site;
    const answer = await raw(host.port, `GET /app/repeated HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
    assert.match(answer, /\r\nFoo: Val1\r\n/);
    assert.match(answer, /\r\nFoo: Val2\r\n/);
  });

  test('123: uploads with a length, in chunks, and empty ones', async () => {
    const upload = (headers, body) => textOf(`${site.url}/upload`, { method: 'POST', headers, body });
    assert.equal(await upload({ 'transfer-encoding': 'chunked' }, 'abc'), 'true-abc');
    assert.equal(await upload({ 'content-length': '3' }, 'def'), 'false-def');
    assert.equal(await upload({ 'transfer-encoding': 'chunked' }, ''), 'true-');
    assert.equal(await upload({ 'content-length': '0' }, ''), 'false-');
    const head = 'POST /app/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n';
    assert.match(await raw(site.host.port, `${head}\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n`), /true-abcdefg/);
    // iisnode's third case has both: RFC 9112, 6.3 calls that an attack, and node:http answers so, too.
    assert.match(await raw(site.host.port, `${head}Content-Length: 0\r\n\r\n0\r\n\r\n`), /^HTTP\/1\.1 400 /);
  });

  test('140: 30 MB in writes of a kilobyte, without back-pressure', { timeout: 60_000 }, async () => {
    const { status, body } = await request(`${site.url}/download`);
    assert.deepEqual([status, body.length], [200, MEGABYTES_30]);
  });

  test('141: 31 MB up', { timeout: 60_000 }, async () => {
    assert.equal(await textOf(`${site.url}/size`, { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, body: Buffer.alloc(MEGABYTES_31) }), String(MEGABYTES_31));
  });

  test('142: 31 MB up and 30 MB down', { timeout: 60_000 }, async () => {
    const { body } = await request(`${site.url}/download`, { method: 'POST', body: Buffer.alloc(MEGABYTES_31) });
    assert.equal(body.length, MEGABYTES_30);
  });
});

describe('iisnode’s functional tests with an application of their own', () => {
  test('114: two processes share the requests', async (t) => {
    // iisnode's go round, whatever the processes are doing; here the one with the least to do is next.
    const { url } = await startSite(t, 'site.cjs', { instances: 2 });
    const held = await Promise.all(Array.from({ length: 6 }, async () => {
      const [response] = await once(http.get(`${url}/hold`), 'response');
      return { response, pid: response.headers['x-pid'] };
    }));
    const pids = [...new Set(held.map(({ pid }) => pid))];
    assert.equal(pids.length, 2);
    const shareOf = (process) => held.filter(({ pid }) => pid === process).length;
    const [busy, idle] = pids.sort((one, other) => shareOf(other) - shareOf(one));
    for (const { response, pid } of held) if (pid === idle) response.destroy();
    // The host hears of these ends in its own time; from then on `busy` has several requests, `idle` at most the one before.
    await eventually(async () => {
      for (let index = 0; index < 10; index++) if (await textOf(`${url}/pid`) !== idle) return false;
      return true;
    }, 'ten requests one after another reach the process that has nothing to do');
    for (const { response } of held) response.destroy();
  });

  test('107, 108, 111: the folder and the variables are those of `portico run`, empty ones too', async (t) => {
    const env = { setting1: 'value1', setting2: 'value2', setting3: '', NODE_ENV: 'production' };
    const { url } = await startRun(t, [join(testsFolder, 'iisnode-parity/apps/site.cjs')], { env, cwd: join(testsFolder, 'real-software/pages') });
    const seen = JSON.parse(await textOf(`${url}/environment`));
    assert.deepEqual(Object.fromEntries(Object.keys(env).map((name) => [name, seen[name]])), env);
    assert.match(await textOf(`${url}/file`), /<html/i);
  });

  test('143: a process asks to be replaced', { timeout: 30_000 }, async (t) => {
    const { url } = await startRun(t, [join(testsFolder, 'iisnode-parity/apps/site.cjs')]);
    const before = await textOf(`${url}/pid`);
    assert.equal(await textOf(`${url}/recycle`), 'recycling');
    await eventually(async () => await textOf(`${url}/pid`) !== before, 'another process answers');
  });

  test('116: an unknown setting is named, with its place, and nothing is started with it', async (t) => {
    const { host } = await startSite(t);
    const file = join(host.folder, 'wrong.toml');
    writeFileSync(file, '[queue]\nlength = 10\nidontexist = 12\n');
    const checked = await promisify(execFile)(portico, ['check-config', file]).catch((error) => error);
    assert.equal(checked.code, 1);
    assert.match(checked.stderr, /wrong\.toml:3:\d+.*idontexist/s);
  });

  test('130: a WebSocket that speaks by itself and closes', { timeout: 30_000 }, async (t) => {
    const { url } = await startSite(t, 'websocket.cjs');
    const socket = new WebSocket(`${url.replace('http', 'ws')}/numbers`);
    const words = [];
    socket.on('message', (data) => words.push(String(data)));
    await once(socket, 'close');
    assert.deepEqual(words, ['one', 'two', 'three']);
  });

  test('131: a WebSocket that echoes', { timeout: 30_000 }, async (t) => {
    const { url } = await startSite(t, 'websocket.cjs');
    const socket = new WebSocket(`${url.replace('http', 'ws')}/echo`);
    await once(socket, 'open');
    const echoes = [];
    for (const word of ['a', 'quick', 'brown', 'fox', 'jumps']) {
      socket.send(word);
      const [data] = await once(socket, 'message');
      echoes.push(String(data));
    }
    socket.close();
    await once(socket, 'close');
    assert.deepEqual(echoes, ['a', 'quick', 'brown', 'fox', 'jumps']);
  });
});
