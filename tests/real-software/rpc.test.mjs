// Servers that programs run on node:http2, unchanged: gRPC, Connect, and Fastify with `http2: true` (PORTICO_HTTP2=1).
// Clients are on Node's own.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';
import { describe, test } from 'node:test';
import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import grpc from '@grpc/grpc-js';
import { eventually } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';
import { calls } from './apps/connect-service.mjs';
import { service } from './apps/grpc.cjs';

const CALLS = 10_000;
const AT_ONCE = 100;

/** `count` calls, some of them at a time. */
async function callMany(count, call) {
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < count) {
      const number = next++;
      await call(number);
    }
  }));
}

for (const threads of ['0', '1']) {
  describe(`@grpc/grpc-js, ${threads} threads`, () => {
    const start = async (t) => {
      const program = await startApp(t, 'real-software/apps/grpc.cjs', { env: { PORTICO_HTTP2: '1', PORTICO_THREADS: threads } });
      const Client = grpc.makeGenericClientConstructor(service, 'Calls');
      const client = new Client(`127.0.0.1:${program.port}`, grpc.credentials.createInsecure());
      t.after(() => client.close());
      return { ...program, client };
    };
    const unary = (client, text, ...rest) => new Promise((resolve, reject) => {
      client.unary(Buffer.from(text), ...rest, (error, answer) => (error ? reject(error) : resolve(answer.toString())));
    });

    test('streams in all four directions, with metadata and trailers', async (t) => {
      const { client } = await start(t);
      const metadata = new grpc.Metadata();
      metadata.set('x-ask', 'yes');
      const call = client.unary(Buffer.from('hello'), metadata, () => undefined);
      const [[head], [status]] = await Promise.all([once(call, 'metadata'), once(call, 'status')]);
      assert.deepEqual([head.get('x-asked'), status.code, status.metadata.get('x-length')], [['yes'], 0, ['5']]);

      const large = randomBytes(3_000_000);
      const collected = new Promise((resolve, reject) => {
        const upload = client.collect((error, answer) => (error ? reject(error) : resolve(answer)));
        for (let at = 0; at < large.length; at += 100_000) upload.write(large.subarray(at, at + 100_000));
        upload.end();
      });
      assert.deepEqual(await collected, large);

      const numbers = [];
      for await (const part of client.count(Buffer.from('1000'))) numbers.push(part.toString());
      assert.deepEqual(numbers, Array.from({ length: 1000 }, (_, number) => `${number}`));

      const echo = client.echo();
      for (let number = 0; number < 20; number += 1) {
        echo.write(Buffer.from(`${number}`));
        assert.equal(String((await once(echo, 'data'))[0]), `${number}`);
      }
      echo.end();
      echo.resume();
      await once(echo, 'end');
    });

    test('deadlines, cancellation and errors', async (t) => {
      const { client, output } = await start(t);
      const code = (name, options, cancel) => new Promise((resolve) => {
        const call = client[name](Buffer.from(''), new grpc.Metadata(), options, (error) => resolve(error?.code));
        cancel?.(call);
      });
      assert.equal(await code('fail', {}), grpc.status.FAILED_PRECONDITION);
      assert.equal(await code('wait', { deadline: Date.now() + 200 }), grpc.status.DEADLINE_EXCEEDED);
      await eventually(() => output().includes('wait cancelled'), 'the server hears of the deadline');
      const waiting = output().split('waiting').length;
      const cancelled = code('wait', {}, (call) => void eventually(() => output().split('waiting').length > waiting, 'the call arrives').then(() => call.cancel()));
      assert.equal(await cancelled, grpc.status.CANCELLED);
      await eventually(() => output().split('wait cancelled').length > 2, 'the server hears of the cancellation');
      const echo = client.echo();
      echo.on('error', () => undefined);
      echo.write(Buffer.from('one'));
      await once(echo, 'data');
      echo.cancel();
      await eventually(() => output().includes('echo cancelled'), 'the stream is cancelled');
      assert.equal(await unary(client, 'still there'), 'still there');
    });

    test(`${CALLS} calls, each with its own answer, and a shutdown that ends`, async (t) => {
      const { client, child, output } = await start(t);
      await callMany(CALLS, async (number) => assert.equal(await unary(client, `call ${number}`), `call ${number}`));
      client.close();
      const exited = once(child, 'exit');
      child.kill('SIGUSR2');
      assert.deepEqual(await exited, [0, null], output());
      assert.match(output(), /^stopped$/m);
    });
  });

  describe(`@connectrpc/connect-node, ${threads} threads`, () => {
    for (const [protocol, createTransport] of Object.entries({ Connect: createConnectTransport, gRPC: createGrpcTransport })) {
      test(`${protocol}: all four directions, deadlines, cancellation, many calls`, async (t) => {
        const { url, output } = await startApp(t, 'real-software/apps/connect-rpc.mjs', { env: { PORTICO_HTTP2: '1', PORTICO_THREADS: threads } });
        const client = createClient(calls, createTransport({ baseUrl: url, httpVersion: '2' }));
        const values = (count) => Array.from({ length: count }, (_, number) => ({ value: `${number}` }));
        const stream = async function* (count) { yield* values(count); };
        assert.equal((await client.unary({ value: 'hello' })).value, 'hello!');
        assert.equal((await client.collect(stream(100))).value, values(100).map(({ value }) => value).join(','));
        const seen = [];
        for await (const { value } of client.count({ value: '500' })) seen.push({ value });
        assert.deepEqual(seen, values(500));
        const echoed = [];
        for await (const { value } of client.echo(stream(50))) echoed.push({ value });
        assert.deepEqual(echoed, values(50));
        await assert.rejects(client.wait({ value: '' }, { timeoutMs: 200 }), { code: Code.DeadlineExceeded });
        await eventually(() => output().includes('wait aborted'), 'the server hears of the deadline');
        const abort = new AbortController();
        setTimeout(() => abort.abort(), 100);
        await assert.rejects(client.wait({ value: '' }, { signal: abort.signal }), { code: Code.Canceled });
        await callMany(1000, async (number) => assert.equal((await client.unary({ value: `${number}` })).value, `${number}!`));
      });
    }
  });

  test(`fastify with http2: true, ${threads} threads`, async (t) => {
    const { url } = await startApp(t, 'real-software/apps/fastify-http2.mjs', { env: { PORTICO_HTTP2: '1', PORTICO_THREADS: threads } });
    const client = http2.connect(url);
    t.after(() => client.destroy());
    const ask = async (path, body, headers = {}) => {
      const stream = client.request({ ':path': path, ...(body !== undefined && { ':method': 'POST', 'content-type': 'application/octet-stream' }), ...headers });
      stream.end(body);
      const [fields] = await once(stream, 'response');
      const parts = [];
      for await (const part of stream) parts.push(part);
      return { status: fields[':status'], body: Buffer.concat(parts) };
    };
    assert.deepEqual(JSON.parse((await ask('/')).body), { hello: 'world', version: '2.0' });
    assert.equal((await ask('/stream')).body.toString(), 'one two three');
    const large = randomBytes(3_000_000);
    assert.deepEqual(JSON.parse((await ask('/length', large)).body), { length: large.length });
    assert.deepEqual((await ask('/echo', large)).body, large);
    assert.deepEqual([(await ask('/throws')).status, (await ask('/nothing')).status], [418, 404]);
    await callMany(CALLS, async () => assert.equal((await ask('/')).status, 200));
  });
}
