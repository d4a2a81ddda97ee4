// Answers that the engine keeps, as a program sees them. Each test runs on the drive that PORTICO_THREADS names, and the
// last one runs this file again with threads.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import '../dist/register.js';

const http = (await import('node:http')).default;
const { cache } = await import('../dist/index.js');
const MODULE = join(import.meta.dirname, '../dist/index.js');
const REGISTER = join(import.meta.dirname, '../dist/register.js');

/** A server that counts what its handler is asked, and a function that sends it a request. */
async function serve(t, handler) {
  const server = http.createServer((req, res) => {
    server.calls++;
    handler(req, res, server.calls);
  });
  server.calls = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const agent = new http.Agent({ keepAlive: true });
  t.after(() => {
    agent.destroy();
    server.close();
  });
  const ask = async (path, options = {}) => {
    const request = http.request({ port, host: '127.0.0.1', path, agent, ...options });
    request.end(options.body);
    const [response] = await once(request, 'response');
    const chunks = await response.toArray();
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() };
  };
  return { server, port, ask, origin: `http://127.0.0.1:${port}` };
}

test('without a wish nothing is kept, and an answer has what it had', async (t) => {
  const { server, port } = await serve(t, (req, res, call) => res.end(`${call}`));
  for (const call of [1, 2]) {
    const socket = net.connect(port, '127.0.0.1');
    socket.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const text = Buffer.concat(await socket.toArray()).toString();
    assert.match(text, /^HTTP\/1\.1 200 OK\r\nDate: [^\r]+\r\nConnection: close\r\nContent-Length: 1\r\n\r\n[12]$/);
    assert.equal(server.calls, call);
  }
});

test('the first answer that sets res.cacheDuration is kept, and given again without the handler', async (t) => {
  const { server, ask } = await serve(t, (req, res, call) => {
    if (req.url.startsWith('/kept')) res.cacheDuration = 60;
    req.url = '/rewritten';
    res.setHeader('X-Call', call);
    res.end(`body ${call}`);
  });
  const first = await ask('/kept?a');
  const again = await ask('/kept?a');
  assert.equal(server.calls, 1);
  assert.equal(first.headers['age'], undefined);
  assert.deepEqual([again.status, again.body, again.headers['x-call'], again.headers['age']], [200, 'body 1', '1', '0']);
  assert.match(again.headers['cache-status'], /^portico; hit; ttl=\d+$/);
  assert.equal((await ask('/kept?b')).body, 'body 2');
  assert.equal((await ask('/not')).body, 'body 3');
  assert.equal((await ask('/not')).body, 'body 4');
  assert.equal((await ask('/kept?a', { method: 'HEAD' })).headers['content-length'], '6');
  assert.equal(server.calls, 4);
});

test('a body that is written in parts is kept whole', async (t) => {
  const { server, ask } = await serve(t, async (req, res) => {
    res.cacheDuration = '60';
    for (const part of ['a', 'b', 'c']) {
      res.write(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.end(Buffer.alloc(100_000, 'd'));
  });
  const { body } = await ask('/');
  assert.equal(body.length, 100_003);
  const again = await ask('/');
  assert.equal(again.body, body);
  assert.equal(again.headers['content-length'], '100003');
  assert.equal(server.calls, 1);
});

test('what is for one client is not kept', async (t) => {
  const { server, ask } = await serve(t, (req, res, call) => {
    res.cacheDuration = 60;
    if (req.url === '/cookie') res.setHeader('Set-Cookie', `session=${call}`);
    if (req.url === '/private') res.setHeader('Cache-Control', 'private');
    res.end(`${call}`);
  });
  const asked = [
    ['/cookie'], ['/private'], ['/', { method: 'POST', body: 'x' }], ['/', { headers: { authorization: 'Basic eDp5' } }],
    ['/', { body: 'x', headers: { 'content-length': 1 } }],
  ];
  for (const request of [...asked, ...asked]) await ask(...request);
  assert.equal(server.calls, 2 * asked.length);
});

test('an answer that breaks off is not kept', async (t) => {
  const { server, ask } = await serve(t, (req, res, call) => {
    res.cacheDuration = 60;
    res.setHeader('Content-Length', 10);
    res.write('half ');
    if (call === 1) setImmediate(() => res.destroy());
    else res.end('whole');
  });
  await assert.rejects(ask('/'));
  assert.equal((await ask('/')).body, 'half whole');
  assert.equal(server.calls, 2);
});

test('the duration is over when it is over, and a new answer is kept', async (t) => {
  const { server, ask } = await serve(t, (req, res, call) => {
    res.cacheDuration = 0.05;
    res.end(`${call}`);
  });
  await ask('/');
  while ((await ask('/')).body === '1') await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(server.calls >= 2);
});

test('cacheDuration reads as it was set, is no property of its own, and takes numbers of seconds alone', async (t) => {
  const { ask } = await serve(t, (req, res) => {
    const seen = [res.cacheDuration, Object.keys(res).includes('cacheDuration')];
    res.cacheDuration = 5;
    seen.push(res.cacheDuration, Object.keys(res).includes('cacheDuration'), 'cacheDuration' in { ...res });
    for (const wrong of [-1, NaN, 'soon', {}, '']) {
      assert.throws(() => { res.cacheDuration = wrong; }, { code: 'ERR_OUT_OF_RANGE' });
    }
    assert.throws(() => cache.tag(res, 'a b'), { code: 'ERR_INVALID_ARG_VALUE' });
    res.cacheDuration = 0;
    res.end(JSON.stringify(seen));
  });
  assert.deepEqual(JSON.parse((await ask('/')).body), [null, false, 5, false, false]);
});

test('a purge holds for all requests that begin behind it', async (t) => {
  const { ask, origin } = await serve(t, (req, res, call) => {
    res.cacheDuration = 60;
    cache.tag(res, `first-${req.url.slice(1, 2)}`, 'all');
    res.setHeader('Surrogate-Key', 'one two');
    res.end(`${call}`);
  });
  await cache.purge({ all: true });
  const bodies = async () => Promise.all(['/a/1', '/a/2', '/b'].map(async (path) => (await ask(path)).body));
  const before = await bodies();
  assert.equal((await ask('/a/1')).headers['surrogate-key'], undefined);
  const changed = async (what, ...indices) => {
    const old = await bodies();
    assert.equal(await cache.purge(what), indices.length, JSON.stringify(what));
    const now = await bodies();
    assert.deepEqual(now.flatMap((body, index) => (body === old[index] ? [] : index)), indices, JSON.stringify(what));
  };
  assert.deepEqual(await bodies(), before);
  await changed({ url: `${origin}/a/1` }, 0);
  await changed({ url: `${origin.toUpperCase()}/a/1#x` }, 0);
  await changed({ url: '/b' }, 2);
  await changed({ url: `${origin}/a` });
  await changed({ prefix: `${origin}/a/` }, 0, 1);
  await changed({ prefix: '/b' }, 2);
  await changed({ tag: 'first-a' }, 0, 1);
  await changed({ tag: 'two' }, 0, 1, 2);
  await changed({ all: true }, 0, 1, 2);
  for (const wrong of [undefined, {}, { url: 1 }, { url: 'ftp://x/' }, { tag: 'a', url: '/' }]) {
    await assert.rejects(cache.purge(wrong), TypeError);
  }
});

test('an answer on its way when the purge comes is not kept', async (t) => {
  let answer;
  const { server, ask } = await serve(t, (req, res, call) => {
    res.cacheDuration = 60;
    if (call === 1) answer = () => res.end('old');
    else res.end('new');
  });
  const old = ask('/');
  while (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  await cache.purge({ all: true });
  answer();
  assert.equal((await old).body, 'old');
  assert.equal((await ask('/')).body, 'new');
  assert.equal((await ask('/')).body, 'new');
  assert.equal(server.calls, 2);
});

test('equal requests wait for the first one, once such an answer has been kept', async (t) => {
  const { server, ask } = await serve(t, (req, res, call) => {
    res.cacheDuration = 60;
    setTimeout(() => res.end(`${call}`), call === 1 ? 0 : 200);
  });
  await ask('/');
  await cache.purge({ all: true });
  const { collapsed } = await cache.stats();
  const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await ask('/')).body));
  assert.deepEqual(new Set(bodies), new Set(['2']));
  assert.equal(server.calls, 2);
  assert.ok((await cache.stats()).collapsed > collapsed);
});

test('two servers of a process never get answers of each other', async (t) => {
  const kept = (name) => (req, res) => {
    res.cacheDuration = 60;
    res.end(name);
  };
  const one = await serve(t, kept('one'));
  const other = await serve(t, kept('other'));
  const headers = { host: 'same.test' };
  for (let round = 0; round < 2; round++) {
    assert.equal((await one.ask('/', { headers })).body, 'one');
    assert.equal((await other.ask('/', { headers })).body, 'other');
  }
  assert.deepEqual([one.server.calls, other.server.calls], [1, 1]);
});

test('stats count', async (t) => {
  const { ask } = await serve(t, (req, res) => {
    res.cacheDuration = 60;
    res.end('x'.repeat(1000));
  });
  const before = await cache.stats();
  await ask('/');
  await ask('/');
  const after = await cache.stats();
  assert.deepEqual([after.hits - before.hits, after.stored - before.stored, after.entries - before.entries], [1, 1, 1]);
  assert.ok(after.bytes - before.bytes > 1000 && after.budgetBytes === 64 * 1024 * 1024);
});

/** Runs a server that says nothing of caching, and returns how often its handler was asked for two equal requests. */
function callsWith(environment) {
  const program = `
    const http = require('node:http');
    let calls = 0;
    const server = http.createServer((req, res) => { calls++; res.end('x'); }).listen(0, async () => {
      for (let at = 0; at < 2; at++) await (await fetch('http://127.0.0.1:' + server.address().port)).text();
      console.log(calls);
      process.exit();
    });`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--require', REGISTER, '-e', program], {
    env: { ...process.env, ...environment }, encoding: 'utf8', timeout: 60_000,
  });
  return stdout.trim() || /code: '(\w+)'/.exec(stderr)?.[1];
}

test('PORTICO_CACHE_DURATION, or its name in httpsys, keeps what says nothing', () => {
  assert.equal(callsWith({}), '2');
  assert.equal(callsWith({ PORTICO_CACHE_DURATION: '60' }), '1');
  assert.equal(callsWith({ HTTPSYS_CACHE_DURATION: '60' }), '1');
  assert.equal(callsWith({ PORTICO_CACHE_DURATION: '0', HTTPSYS_CACHE_DURATION: '60' }), '2');
  assert.equal(callsWith({ HTTPSYS_CACHE_DURATION: 'yes' }), '2');
  assert.equal(callsWith({ PORTICO_CACHE_DURATION: 'yes' }), 'ERR_PORTICO_CACHE_DURATION');
});

test('PORTICO_CACHE=standard keeps what says so itself', () => {
  const program = `
    const http = require('node:http');
    let calls = 0;
    const server = http.createServer((req, res) => {
      calls++;
      if (req.url !== '/') res.setHeader('Cache-Control', req.url.slice(1));
      res.end('x');
    }).listen(0, async () => {
      const seen = [];
      for (const [path, control] of [['/'], ['/no-store'], ['/max-age=60'], ['/max-age=60,private'], ['/s-maxage=60'], ['/max-age=60', 'no-cache']]) {
        calls = 0;
        for (let at = 0; at < 2; at++) {
          await (await fetch('http://127.0.0.1:' + server.address().port + path, control && { headers: { 'cache-control': control } })).text();
        }
        seen.push(calls);
      }
      console.log(JSON.stringify(seen));
      process.exit();
    });`;
  const run = (environment) => spawnSync(process.execPath, ['--require', REGISTER, '-e', program], {
    env: { ...process.env, ...environment }, encoding: 'utf8', timeout: 60_000,
  });
  assert.deepEqual(JSON.parse(run({ PORTICO_CACHE: 'standard' }).stdout), [2, 2, 1, 2, 1, 2]);
  assert.match(run({ PORTICO_CACHE: 'yes' }).stderr, /ERR_PORTICO_CACHE/);
});

test('on node:http itself the module is there and keeps nothing', () => {
  const program = `
    const { cache } = require(${JSON.stringify(MODULE)});
    cache.purge({ all: true }).then(async (count) => console.log(count, (await cache.stats()).budgetBytes));`;
  const { stdout } = spawnSync(process.execPath, ['-e', program], { env: { ...process.env, PORTICO_DISABLE: '1' }, encoding: 'utf8' });
  assert.equal(stdout.trim(), '0 0');
});

test('the same on threads', { skip: process.env.PORTICO_THREADS !== undefined }, () => {
  const { status, stdout } = spawnSync(process.execPath, ['--test', import.meta.filename], {
    env: { ...process.env, PORTICO_THREADS: '2', NODE_TEST_CONTEXT: undefined }, encoding: 'utf8', timeout: 120_000,
  });
  assert.equal(status, 0, stdout);
});
