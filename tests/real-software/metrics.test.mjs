// prom-client: what was asked is what is counted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curl, request } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

test('prom-client counts requests by route and status', async (t) => {
  const { url } = await startApp(t, 'real-software/apps/prom-client.cjs');
  // Several on one connection, and others with one each.
  await curl(...Array.from({ length: 5 }, () => `${url}/hello`));
  for (let count = 0; count < 3; count++) await request(`${url}/nowhere`);
  const metrics = await curl(`${url}/metrics`);
  const counted = (labels) => Number(new RegExp(`^http_seconds_count\\{${labels}\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
  assert.equal(counted('method="GET",route="/hello",status="200"'), 5, metrics);
  assert.equal(counted('method="GET",route="",status="404"'), 3, metrics);
  assert.match(metrics, /^process_cpu_seconds_total /m);
});
