// Workers of a cluster share a port, whatever hands out the connections.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually, raw, request } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

const APP = 'robustness/apps/cluster.cjs';

for (const policy of ['rr', 'none']) {
  describe(`cluster, ${policy === 'rr' ? 'round robin' : 'the workers accept'}`, () => {
    const start = (t) => startApp(t, APP, { env: { POLICY: policy } });

    test('the workers share the port', async (t) => {
      const { url } = await start(t);
      const served = new Map();
      const ask = async () => {
        const { headers } = await request(url);
        served.set(headers['x-worker'], (served.get(headers['x-worker']) ?? 0) + 1);
      };
      for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 20 }, ask));
      if (policy === 'rr') assert.ok([...served.values()].every((count) => count >= 50), String([...served.values()]));
      else assert.ok(served.size >= 1 && served.size <= 2); // the kernel decides
    });

    test('bodies, pipelines and upgrades work in a worker', async (t) => {
      const { url, port } = await start(t);
      const body = Buffer.alloc(1_000_000, 'x');
      assert.deepEqual((await request(`${url}/echo`, { method: 'POST', body })).body, body);
      const two = 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
      assert.equal((await raw(port, two)).match(/HTTP\/1\.1 200 OK/g).length, 2);
      assert.match(await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'), /upgraded$/);
    });

    test('a killed worker is replaced and the port stays open', async (t) => {
      const { url, output } = await start(t);
      const { headers } = await request(url);
      process.kill(Number(headers['x-worker']), 'SIGKILL');
      await eventually(() => (output().match(/ready/g) ?? []).length === 3, 'a replacement listens');
      for (let i = 0; i < 20; i += 1) assert.equal((await request(url)).status, 200);
      assert.match(output(), /ended SIGKILL/);
    });

    test('a worker that exits after its answer is replaced', async (t) => {
      const { url, output } = await start(t);
      assert.equal((await request(`${url}/exit`)).body.toString(), 'bye');
      await eventually(() => (output().match(/ready/g) ?? []).length === 3, 'a replacement listens');
      assert.equal((await request(url)).status, 200);
    });

    test('a stop lets requests in flight finish', async (t) => {
      const { url, child } = await start(t);
      const slow = request(`${url}/slow`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      child.kill('SIGTERM');
      assert.equal((await slow).body.toString(), 'slow');
      await eventually(() => child.exitCode === 0, 'the primary ends');
    });
  });
}
