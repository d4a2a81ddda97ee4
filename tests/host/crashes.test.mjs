// Nothing is lost: processes are killed and replaced under load, and every request is accounted for.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { curl, eventually, request } from '../support/clients.mjs';
import { startLoad } from '../support/load.mjs';
import { startHost } from '../support/start-host.mjs';

const APP = 'host/apps/member.cjs';
/** How long what must come may take on a busy machine. */
const LIMIT_MS = 60_000;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Pipelines `count` requests, uploads and others in turn, of which the last has sent half of its body. `finish` sends
 * the other half and resolves with all answers.
 */
function pipeline(port, count) {
  const body = 'x'.repeat(200_000);
  const upload = (fields) => `POST /echo HTTP/1.1\r\nHost: a\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;
  const requests = Array.from({ length: count - 1 }, (_, index) => (index % 3 === 0 ? upload('') : 'GET /parts HTTP/1.1\r\nHost: a\r\n\r\n'));
  const socket = net.connect(port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (part) => (text += part));
  socket.write(requests.join('') + upload('Connection: close\r\n').slice(0, -body.length / 2));
  return {
    count,
    uploads: requests.filter((text) => text.startsWith('POST')).length + 1,
    finish: async () => {
      socket.write(body.slice(body.length / 2));
      await once(socket, 'close');
      return text;
    },
  };
}

describe('kill -9', () => {
  for (const [action, expected] of [
    ['never', 502], ['die', 502], ['half', 'broken'], ['chunks', 'broken'], ['slow?ms=60000', 502],
  ]) {
    test(`during ${action}: ${expected}`, async (t) => {
      const host = await startHost(t);
      const member = await host.member(APP, `http://*:${host.port}/`);
      const asked = request(`${host.url}/${action}`).then(({ status }) => status, () => 'broken');
      if (action !== 'die') {
        if (expected === 'broken') await eventually(async () => (await host.status()).bytes_written > 0, 'the answer has begun', LIMIT_MS);
        else await host.hasTaken(member, 1);
        await member.kill('SIGKILL');
      }
      assert.equal(await asked, expected);
    });
  }

  test('a request with half of its body sent is answered 502', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    const { default: http } = await import('node:http');
    const outgoing = http.request(`${host.url}/count`, { method: 'POST', headers: { 'Content-Length': '1000' } });
    outgoing.write('x'.repeat(500));
    const status = new Promise((resolve) => {
      outgoing.on('response', (response) => resolve(response.resume().statusCode));
      outgoing.on('error', () => resolve('broken'));
    });
    await host.hasTaken(member, 1);
    await member.kill('SIGKILL');
    assert.equal(await status, 502);
    outgoing.destroy();
  });

  test('what the process had not taken goes to another one', async (t) => {
    const host = await startHost(t);
    const busy = await host.member(APP, `http://*:${host.port}/`, { args: ['busy'] });
    const blocked = request(`${host.url}/busy?ms=30000`).then(({ status }) => status);
    await host.hasTaken(busy, 1);
    const waiting = Array.from({ length: 20 }, () => curl(`${host.url}/name`));
    await eventually(async () => {
      const [{ waiting: queued, processes: [{ untaken }] }] = (await host.status()).prefixes;
      return queued + untaken === 20;
    }, 'all wait', LIMIT_MS);
    await host.member(APP, `http://*:${host.port}/`, { args: ['other'] });
    await busy.kill('SIGKILL');
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['other']));
    assert.equal(await blocked, 502);
  });

  test('a request that moves to a process which has later ones of its connection is answered before them', async (t) => {
    const host = await startHost(t);
    const first = await host.member(APP, `http://*:${host.port}/`);
    const given = async () => (await host.processes()).reduce((sum, { requests }) => sum + requests, 0);
    const lost = [request(`${host.url}/busy?ms=30000`)];
    await host.hasTaken(first, 1);
    await host.member(APP, `http://*:${host.port}/`);
    // Both have as much to do: of the next requests each gets every second one.
    for (let count = 0; count < 3; count++) lost.push(request(`${host.url}/never`));
    for (const one of lost) one.catch(() => undefined);
    await eventually(async () => await given() === 4, 'all are given to a process', LIMIT_MS);
    const bodies = [6, 7].map((count) => pipeline(host.port, count));
    await eventually(async () => await given() === 4 + 6 + 7, 'those of the connections, too', LIMIT_MS);
    await first.kill('SIGKILL');
    for (const { finish, count, uploads } of bodies) {
      const text = await finish();
      assert.equal(text.match(/^HTTP\/1\.1 200 OK/gm)?.length, count, text.slice(0, 2000));
      const echoed = [...text.matchAll(/x+/g)].reduce((sum, [run]) => sum + run.length, 0);
      assert.equal(echoed, uploads * 200_000, 'bytes of the echoes');
    }
  });

  for (const [name, first] of [
    ['a request', 'GET /name HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an upload', 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nname'],
  ]) {
    test(`${name} that moves to a process which has answered the last of its connection is answered, too`, { timeout: 60_000 }, async (t) => {
      const host = await startHost(t);
      const stopped = await host.member(APP, `http://*:${host.port}/`);
      stopped.child.kill('SIGSTOP');
      const socket = net.connect(host.port, '127.0.0.1').setEncoding('latin1');
      let text = '';
      socket.on('data', (part) => (text += part));
      socket.write(first);
      await eventually(async () => (await host.processes())[0].untaken === 1, 'it waits for the stopped process', LIMIT_MS);
      const other = await host.member(APP, `http://*:${host.port}/`, { args: ['name'] });
      // It looks at its socket, which ends behind the answer.
      socket.write('GET /facts HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      await eventually(async () => {
        const { requests, in_flight: inFlight } = (await host.processes()).find(({ pid }) => pid === other.pid);
        return requests === 1 && inFlight === 0;
      }, 'the other process has answered', LIMIT_MS);
      const closed = once(socket, 'close');
      await stopped.kill('SIGKILL');
      await closed;
      assert.match(text, /^HTTP\/1\.1 200 OK[^]*name[^]*HTTP\/1\.1 200 OK[^]*remoteAddress/);
    });
  }

  test('again and again under load: each request is complete, 502 or 503', async (t) => {
    const host = await startHost(t);
    const start = () => host.member(APP, `http://*:${host.port}/`);
    let members = await Promise.all([start(), start(), start()]);
    const load = startLoad(host.url, { connections: 24, paths: ['/pid', '/slow?ms=5', '/pid'], check: (status, body) => status !== 200 || /^\d+$/.test(body) });
    for (let round = 0; round < 8; round++) {
      await pause(250);
      const [victim, ...rest] = members;
      const [replacement] = await Promise.all([start(), victim.kill('SIGKILL')]);
      members = [...rest, replacement];
    }
    const { sent, statuses, failures } = await load.stop();
    assert.deepEqual(failures, []);
    assert.deepEqual([...statuses.keys()].filter((status) => ![200, 502, 503].includes(status)), []);
    assert.equal([...statuses.values()].reduce((sum, count) => sum + count, 0), sent);
    assert.ok(statuses.get(200) > sent * 0.9, JSON.stringify([...statuses]));
  });
});

describe('restarts', () => {
  test('200 polite restarts under load fail no request', { timeout: 570_000 }, async (t) => {
    const host = await startHost(t);
    const start = () => host.member(APP, `http://*:${host.port}/`);
    let members = await Promise.all([start(), start()]);
    const load = startLoad(host.url, { connections: 8, paths: ['/pid', '/slow?ms=2'], check: (status) => status === 200 });
    for (let round = 0; round < 200; round++) {
      const replacement = await start();
      const [leaving, ...rest] = members;
      members = [...rest, replacement];
      await leaving.kill('SIGTERM');
      host.members.splice(host.members.indexOf(leaving), 1);
    }
    const { sent, failures } = await load.stop();
    assert.deepEqual(failures, []);
    assert.ok(sent > 1000, `${sent} requests`);
  });
});

describe('a slow process beside a fast one', () => {
  test('takes only what it can answer', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`, { args: ['fast'] });
    await host.member('host/apps/slow-member.cjs', `http://*:${host.port}/`);
    const counts = { fast: 0, slow: 0 };
    const load = startLoad(host.url, { connections: 8, paths: ['/name'], check: (status, body) => (counts[body]++, status === 200) });
    await pause(3000);
    const { failures } = await load.stop();
    assert.deepEqual(failures, []);
    assert.ok(counts.fast > counts.slow * 5, JSON.stringify(counts));
  });
});
