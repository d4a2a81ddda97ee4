// Odd answers: behind a host they are as node:http sends them, or what docs/hosted.md says of them. Nothing that a program
// answers ends its process, or costs another request anything.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { curl, eventually, raw } from '../support/clients.mjs';
import { testsFolder } from '../support/mode.mjs';
import { startNode } from '../support/child.mjs';
import { startHost } from '../support/start-host.mjs';

const APP = 'host/apps/odd-answers.cjs';

/** The same program on node:http; resolves with its port. */
async function plainNode(t) {
  const { match } = await startNode([join(testsFolder, APP), '0'], {
    ready: /^listening (.*)/, started: ({ kill }) => t.after(() => kill()), env: { PATH: process.env.PATH },
  });
  return JSON.parse(match[1]).port;
}

const ask = (path, version = '1.1') => `GET /${path} HTTP/${version}\r\nHost: x\r\n`;
/** A request, and one behind it that is the last of its connection. */
const pipelined = (path) => `${ask(path)}\r\n${ask('ok')}Connection: close\r\n\r\n`;
const old = (path) => `${ask(path, '1.0')}Connection: keep-alive\r\n\r\n`;
const withoutDates = (text) => text.replace(/Date: [^\r]*\r\n/g, '').replace(/Keep-Alive: [^\r]*\r\n/g, '');
const statusOf = (text) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);

describe('an answer', () => {
  test('is as from node:http', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`);
    const port = await plainNode(t);
    for (const request of [
      ...['no-length', 'interim', 'chunks', 'own-chunks', '%zz', 'a//../b', 'raw-interim', 'raw-answer', 'raw-pieces', 'raw-until-end', 'raw-refusal',
        'large-head', 'large-head', 'large-head', 'large-head', 'large-head', 'large-head', 'large-set', 'huge-head', 'large-trailers'].map(pipelined),
      ...['ok', 'chunks', 'own-chunks'].map(old).map((text) => text.replace('keep-alive', 'close')),
      old('chunks'),
    ]) {
      const [node, hosted] = (await Promise.all([raw(port, request), raw(host.port, request)])).map(withoutDates);
      // An answer that ends with its connection says so.
      const expected = request.startsWith('GET /no-length') ? node.replace('keep-alive', 'close') : node;
      assert.ok(hosted === expected, `${request.slice(0, 30)}: ${hosted.slice(0, 300)}\nnode:http: ${node.slice(0, 300)}`);
    }
  });

  test('that a client could take for two ends its connection; one that is none becomes 502', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    const answers = async (path) => withoutDates(await raw(host.port, pipelined(path)));
    for (const [path, body] of [
      ['too-long', 'abc'], ['too-long-later', 'abc'], ['too-short', 'abc'], ['other-coding', 'abc'],
      ['length-and-coding', '3\r\nabc\r\n0\r\n\r\n'], ['raw-two', 'raw'],
    ]) {
      const text = await answers(path);
      assert.equal(text.slice(text.indexOf('\r\n\r\n') + 4), body, path);
      assert.deepEqual(statusOf(text), ['200'], path);
    }
    // Again and again, so that heads become templates.
    for (const path of ['no-number', 'no-number', 'no-number', 'no-number', 'no-number', 'no-number', 'two-lengths', 'switching', 'beyond-all-heads']) {
      const text = await answers(path);
      assert.deepEqual(statusOf(text), ['502'], path);
      assert.match(text, /Connection: close\r\n/, path);
    }
    assert.equal(await curl(`${host.url}/ok`), 'ok');
    assert.equal(member.child.exitCode, null);
    assert.doesNotMatch(member.output(), /^error/m);
  });

  test('has no interim answers for clients of HTTP/1.0', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`);
    assert.deepEqual(statusOf(await raw(host.port, old('interim'))), ['200']);
  });

  test('can\'t be written past its response in a way that reaches into others', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    for (const path of ['raw-nonsense', 'raw-switching', 'raw-chunks', 'raw-in-the-midst', 'feed', 'raw-nonsense-by-stream', 'raw-nonsense-below-stream',
      'raw-nonsense-by-response', 'raw-nonsense-sent', 'raw-half-then-end', 'hint-with-length', 'hint-with-coding']) {
      const text = await raw(host.port, pipelined(path));
      assert.match(text, /ERR_PORTICO_SHARED_CONNECTION/, path);
      assert.deepEqual(statusOf(text), ['200', '200'], path);
    }
    // Node 24 refuses it by itself.
    assert.match(await raw(host.port, pipelined('late-interim')), /ERR_PORTICO_SHARED_CONNECTION|ERR_HTTP_HEADERS_SENT/);
    assert.equal(await raw(host.port, ask('raw-half') + '\r\n'), '');
    assert.match(member.output(), /^socket ERR_PORTICO_SHARED_CONNECTION/m);
    assert.equal(await raw(host.port, ask('ends') + '\r\n'), '');
    await eventually(() => /^ended/m.test(member.output()), 'the socket has ended');
  });

  test('written past its response as a whole is ended by it, in whatever way the bytes were written', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    for (const path of ['raw-then-end', 'raw-then-end-later', 'raw-then-socket-end', 'raw-by-stream', 'raw-below-stream', 'raw-by-response', 'raw-then-body']) {
      const text = await raw(host.port, pipelined(path));
      assert.equal(text, 'HTTP/1.1 200 Raw\r\nContent-Length: 3\r\n\r\nraw', path);
    }
    // Node 24 calls the callback before the listeners.
    await eventually(() => /(finish\nend callback|end callback\nfinish)\nclose/.test(member.output()), 'the response has finished');
    await eventually(() => /^body refused: ERR_PORTICO_SHARED_CONNECTION/m.test(member.output()), 'the body is refused');
    assert.match(member.output(), /^written/m);
  });

  test('with the status of an interim one becomes 502, and the process says once what to do', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    for (const path of ['interim-status', 'unknown-interim-status', 'interim-status']) {
      assert.deepEqual(statusOf(await raw(host.port, pipelined(path))), ['502'], path);
    }
    await eventually(() => /PORTICO_INTERIM_STATUS/.test(member.output()), 'the warning');
    assert.equal(member.output().match(/PORTICO_INTERIM_STATUS/g).length, 1);
    assert.match(member.output(), /GET \/interim-status has the status 103.*502/);
  });

  test('has no early hint with a line break in it', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`);
    for (const path of ['split-hint', 'split-link']) {
      const text = await raw(host.port, pipelined(path));
      assert.deepEqual(statusOf(text), ['200', '200'], text);
      assert.match(text, /ERR_INVALID_CHAR|ERR_INVALID_ARG_VALUE/, path);
    }
  });

  test('of the host that ends the connection is its last: no request behind it runs', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/a/`);
    const text = await raw(host.port, `POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc${ask('a/behind')}\r\n`);
    assert.deepEqual(statusOf(text), ['404']);
    assert.equal(await curl(`${host.url}/a/ok`), 'ok');
    assert.doesNotMatch(member.output(), /behind/);
  });

  test('with a large head costs a bystander nothing', async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/`);
    const bystanders = Array.from({ length: 50 }, () => curl(`${host.url}/chunks`));
    const large = Array.from({ length: 50 }, (_, index) => raw(host.port, `${ask(index % 2 ? 'large-set' : 'huge-head')}Connection: close\r\n\r\n`));
    assert.deepEqual(new Set(await Promise.all(bystanders)), new Set(['ab']));
    assert.deepEqual(new Set((await Promise.all(large)).flatMap(statusOf)), new Set(['200']));
  });
});
