// URL prefixes: independent processes on one port.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { curl, eventually, raw, request } from '../support/clients.mjs';
import { startHost } from '../support/start-host.mjs';

const APP = 'host/apps/member.cjs';

describe('two processes on one port', () => {
  test('each gets the requests of its prefix, with the URL as it was sent', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/1/`, { args: ['one'] });
    await host.member(APP, `http://*:${host.port}/2/`, { args: ['two'] });
    for (const [path, body] of [['/1/name', 'one'], ['/2/name', 'two'], ['/1', 'one'], ['/2/url?a=b', '/2/url?a=b']]) {
      assert.equal(await curl(`${host.url}${path}`), body, path);
    }
    for (const path of ['/', '/3/', '/11/', '/1x']) {
      assert.equal((await request(`${host.url}${path}`)).status, 404, path);
    }
  });

  test('one connection reaches both, and pipelined answers keep their order', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/1/`, { args: ['one'] });
    await host.member(APP, `http://*:${host.port}/2/`, { args: ['two'] });
    const ask = (path, last) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
    const text = await raw(host.port, ask('/1/slow?ms=200') + ask('/2/name') + ask('/nobody') + ask('/1/name', true));
    const answers = text.split('HTTP/1.1 ').slice(1);
    assert.deepEqual(answers.map((answer) => answer.slice(0, 3)), ['200', '200', '404', '200']);
    assert.deepEqual(answers.map((answer) => answer.split('\r\n\r\n')[1].match(/one|two|Not Found/)[0]), ['one', 'two', 'Not Found', 'one']);
  });

  test('the more exact prefix wins, whoever came first', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`, { args: ['root'] });
    await host.member(APP, `http://*:${host.port}/a/b/`, { args: ['deep'] });
    await host.member(APP, `http://named.example:${host.port}/`, { args: ['named'] });
    assert.equal(await curl(`${host.url}/a/name`), 'root');
    assert.equal(await curl(`${host.url}/a/b/name`), 'deep');
    assert.equal(await curl(`${host.url}/a/%62/name`), 'deep');
    assert.equal(await curl('-H', 'Host: named.example', `${host.url}/a/b/name`), 'named');
  });

  test('server.address() says where the host listens, and the client is who it is', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    const address = JSON.parse(member.output().split('listening ')[1]);
    assert.equal(address.port, host.port);
    const facts = JSON.parse(await curl(`${host.url}/facts`));
    assert.match(facts.remoteAddress, /127\.0\.0\.1$/);
    assert.equal(facts.localPort, host.port);
    assert.equal(facts.encrypted, false);
    assert.equal(facts.sameSocket, true);
  });
});

describe('bodies and streams', () => {
  test('100 MB go up and come down without being kept', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`);
    const bytes = 100 << 20;
    assert.equal(await curl('-T', '-', '-X', 'POST', `${host.url}/count`, '--data-binary', '@/dev/null').catch(() => 'x') !== '', true);
    const { body } = await request(`${host.url}/count`, { method: 'POST', body: Buffer.alloc(bytes) });
    assert.equal(body.toString(), String(bytes));
    const down = await request(`${host.url}/big?bytes=${bytes}`);
    assert.equal(down.body.length, bytes);
    const echoed = await request(`${host.url}/echo`, { method: 'POST', body: Buffer.alloc(5 << 20, 'y') });
    assert.equal(echoed.body.length, 5 << 20);
  });

  test('an upgraded connection is a pipe in both directions', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`);
    const socket = net.connect(host.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (part) => (text += part));
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst');
    await eventually(() => text.endsWith('first'), 'what came with the head comes back');
    assert.match(text, /^HTTP\/1\.1 101 /);
    socket.write('x'.repeat(1 << 20));
    await eventually(() => text.length > (1 << 20), 'a megabyte comes back');
    socket.end();
    await once(socket, 'close');
  });

  test('a client that leaves is told to the process', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    const socket = net.connect(host.port, '127.0.0.1');
    socket.write('GET /aborted HTTP/1.1\r\nHost: x\r\n\r\n');
    await host.hasTaken(member, 1);
    socket.destroy();
    await eventually(() => /aborted/.test(member.output()) && /closed/.test(member.output()), 'the process hears of it');
  });
});

describe('errors of listen', () => {
  const failing = async (host, prefix, options) => {
    const member = await host.member(APP, prefix, { ready: /^error/, ...options });
    return member.output();
  };

  test('have codes and say what to do', async (t) => {
    const host = await startHost(t);
    assert.match(await failing(host, `http://*:${host.port}x/`), /error ERR_PORTICO_PREFIX_INVALID/);
    assert.match(await failing(host, `http:/*:${host.port}/`), /error ERR_PORTICO_PREFIX_INVALID/);
    assert.match(await failing(host, `https://*:${host.port}/`), /error ERR_PORTICO_PREFIX_SCHEME .*node:https/);
  });

  test('a port that another program has is EADDRINUSE', async (t) => {
    const host = await startHost(t);
    const other = net.createServer().listen(0);
    await once(other, 'listening');
    t.after(() => other.close());
    const { port } = other.address();
    assert.match(await failing(host, `http://*:${port}/`), new RegExp(`error EADDRINUSE .*${port}`));
  });
});

describe('leaving', () => {
  test('a server that closes finishes what it has, and its prefix is free', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`, { args: ['first'] });
    const slow = curl(`${host.url}/slow?ms=500`);
    await host.hasTaken(member, 1);
    await member.kill('SIGTERM');
    assert.equal(await slow, 'first');
    assert.deepEqual(await member.ended, [0, null]);
    await host.member(APP, `http://*:${host.port}/`, { args: ['second'] });
    assert.equal(await curl(`${host.url}/name`), 'second');
  });

  test('a request that meets no process waits for one', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`, { args: ['first'] });
    await member.kill('SIGKILL');
    const waiting = curl(`${host.url}/name`);
    await host.member(APP, `http://*:${host.port}/`, { args: ['second'] });
    assert.equal(await waiting, 'second');
  });
});
