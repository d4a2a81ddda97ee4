// Connections that a program ends, or fails on, and that clients reset, behind a host. The oracle of the rows of the hostile
// matrix is node:http.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { describe, matrix } from '../robustness/matrix/matrix.mjs';
import { parseRow } from '../robustness/matrix/rows.mjs';
import { curl, eventually } from '../support/clients.mjs';
import { startHost } from '../support/start-host.mjs';

const THROWN = [
  // Node's answer to what comes after an exception: with a listener of the request's events and without, after 100
  // (Continue), and behind a body that comes later. (While a client is still sending, a reset cuts off what node:http answers.)
  'throws/1/behind/idle/chunked/fast/watched',
  'throws/100/split/idle/expect/fast/watched',
  'throws/16384/behind/idle/length/fast/watched',
  'throws-in-data/16383/slow/idle/expect/fast/unwatched',
];

// The host has read the whole request when its process destroys it: node:http has not, and its close is a reset.
const DESTROYED = [
  'request-destroy/65536/at-once/idle/length/fast/watched',
  'request-destroy-error/70000/at-once/idle/length/fast/watched',
  'request-destroy-first-part/70000/at-once/idle/length/fast/watched',
  'response-destroy/70000/at-once/idle/length/fast/watched',
  'socket-destroy/70000/at-once/idle/length/fast/watched',
  // All of it has been read: no reset.
  'request-destroy/16383/at-once/idle/length/fast/watched',
  'socket-destroy/16384/behind/idle/length/fast/watched',
];

test('an exception that is caught ends in the answer that node:http gives', async () => {
  const { failures } = await matrix(THROWN.map(parseRow), { drives: ['hosted'] });
  assert.equal(failures.map((failure) => describe(failure)).join('\n'), '');
});

test('a request that is destroyed before it has been read ends with a reset, as with node:http', async () => {
  const { failures, chosen } = await matrix(DESTROYED.map(parseRow), { drives: ['hosted'] });
  assert.equal(failures.map((failure) => describe(failure)).join('\n'), '');
  // Elsewhere what has been read ahead is a reason to differ; here it is none.
  assert.deepEqual([...chosen], []);
});

const GET = (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const UPGRADE = 'GET /upgraded HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';

/** What a client sends, and how many requests of it a process is given. */
const MORE_THAN_IS_READ = {
  'more requests than a host reads': [GET('/never').repeat(40), 8],
  'as many requests as a host reads': [GET('/never').repeat(8), 8],
  'more requests than a host reads, and answered ones among them': [`${GET('/never')}${GET('/name').repeat(40)}`, 1],
  'an upgrade behind a request': [`${GET('/never')}${UPGRADE}`, 1],
  'an upgrade with bytes behind a request': [`${GET('/never')}${UPGRADE}more`, 1],
};

for (const [what, [sent, places]] of Object.entries(MORE_THAN_IS_READ)) {
  for (const [how, leave] of Object.entries({ resets: (socket) => socket.resetAndDestroy(), ends: (socket) => socket.end(), 'is gone from': (socket) => socket.destroy() })) {
    test(`a client that ${how} a connection with ${what} gives back its places`, async (t) => {
      const host = await startHost(t);
      await host.member('host/apps/member.cjs', `http://*:${host.port}/`, { args: ['here'] });
      const inFlight = async () => (await host.status()).prefixes.find(({ prefix }) => prefix.includes(`:${host.port}/`)).processes[0].in_flight;
      const socket = net.connect(host.port, '127.0.0.1');
      t.after(() => socket.destroy());
      await once(socket, 'connect');
      socket.write(sent);
      await eventually(async () => (await inFlight()) === places, 'it has its places');
      leave(socket);
      await eventually(async () => (await inFlight()) === 0, 'its places are free');
      assert.equal(await curl(`${host.url}/name`), 'here');
    });
  }
}

test('a client that ends its side behind a body that no handler reads, and more requests, gives back its places', async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/impatient.cjs', `http://*:${host.port}/`);
  const inFlight = async () => (await host.status()).prefixes.find(({ prefix }) => prefix.includes(`:${host.port}/`)).processes[0].in_flight;
  const socket = net.connect({ port: host.port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.resume().end(`${GET('/').repeat(7)}POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}${GET('/').repeat(5)}`);
  await eventually(async () => (await inFlight()) === 8, 'it has its places');
  await eventually(async () => (await inFlight()) === 0, 'its places are free', 60_000);
});

// What the handler did before it threw, and all that its client reads: the next request is refused, whatever can still be written.
const FAILED = {
  nothing: /^HTTP\/1\.1 400 Bad Request\r\n[^]*\r\n\r\n$/,
  begun: /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n5\r\nbegun\r\n$/,
  ended: /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nendedHTTP\/1\.1 400 Bad Request\r\n[^]*\r\n\r\n$/,
};

for (const [before, expected] of Object.entries(FAILED)) {
  test(`a listener of 'clientError' answers behind a handler that threw, of whose answer it had ${before}`, async (t) => {
    const host = await startHost(t);
    const member = await host.member('host/apps/failing.cjs', `http://*:${host.port}/`);
    const socket = net.connect(host.port, '127.0.0.1').setEncoding('latin1');
    t.after(() => socket.destroy());
    let text = '';
    const closed = once(socket.on('data', (part) => (text += part)).on('error', () => undefined), 'close');
    socket.write(GET(`/${before}`));
    await eventually(() => member.output().includes(`caught ${before}`) && (before === 'nothing' || text.includes(before)), 'it has thrown');
    socket.write(GET('/next'));
    await closed;
    assert.match(text, expected);
    assert.match(member.output(), new RegExp(`^listening\ncaught ${before}\nclientError HPE_CB_HEADERS_COMPLETE$`));
    assert.equal(await curl(`${host.url}/next`), 'next');
  });
}

test('a registration that is refused leaves no socket', async (t) => {
  const host = await startHost(t);
  const member = await host.member('host/apps/refused.cjs', `http://*:${host.port}/`);
  assert.match(member.output(), /error EADDRINUSE\nlistening 0/);
});

test('a client that ends its side behind many requests gets all answers', async (t) => {
  const host = await startHost(t);
  await host.member('host/apps/member.cjs', `http://*:${host.port}/`, { args: ['here'] });
  for (const count of [8, 9, 20, 100]) {
    const socket = net.connect({ port: host.port, host: '127.0.0.1', allowHalfOpen: true });
    t.after(() => socket.destroy());
    socket.end(GET('/name').repeat(count));
    let text = '';
    for await (const part of socket) text += part;
    assert.equal(text.split('\r\n\r\nhere').length - 1, count);
  }
});
