// Agents that patch node:http see every request under Portico as they do on node:http: method, route and status, in each
// order of loading that their documentation allows.

import assert from 'node:assert/strict';
import http from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

const folder = join(import.meta.dirname, 'agents');
const required = (name) => ['--require', join(folder, `${name}.cjs`)];
const imported = (name) => ['--import', join(folder, `${name}.mjs`)];

/** Orders of loading: from an agent's name and Portico's two ways to be loaded to Node's flags. */
const ORDERS = {
  'agent required, Portico imported': (name, { byImport }) => [...required(name), ...byImport],
  'agent required, then Portico required': (name, { byRequire }) => [...required(name), ...byRequire],
  'Portico required, then agent required': (name, { byRequire }) => [...byRequire, ...required(name)],
  'agent imported, then Portico imported': (name, { byImport }) => [...imported(name), ...byImport],
  'Portico imported, then agent imported': (name, { byImport }) => [...byImport, ...imported(name)],
  'Portico imported, agent in the first line': (name, { byImport }) => byImport,
};
const ALL = Object.keys(ORDERS);
const BY_IMPORT = ALL.filter((order) => order.includes('agent imported'));

const AGENTS = {
  'dd-trace': ALL,
  opentelemetry: ALL,
  newrelic: ALL,
  'elastic-apm': ALL,
  // Its documentation rules --require out, and so does the agent.
  sentry: BY_IMPORT,
};

const EXPECTED = [
  'GET /hello/:name 200', 'GET /hello/:name 200', 'GET /hello/:name 200', 'POST /items 201', 'GET /boom 500', 'GET - 404', 'GET /left/:name 200',
].sort();

for (const [agent, orders] of Object.entries(AGENTS)) {
  for (const order of orders) {
    test(`${agent}: ${order}`, async (t) => {
      const app = await startApp(t, 'real-software/agents/app.cjs', {
        commandLine: (portico) => ORDERS[order](agent, portico),
        env: order.endsWith('first line') ? { AGENT: `./${agent}.cjs` } : {},
      });
      await askAll(app.port);
      const seen = () => app.output().split('\n').filter((line) => line.startsWith('saw ')).map((line) => line.slice(4));
      await eventually(() => seen().length >= EXPECTED.length, `an agent's ${EXPECTED.length} reports, not only ${seen()}`, 20_000)
        .catch(() => undefined);
      assert.deepEqual(seen().sort(), EXPECTED, app.output());
    });
  }
}

/** Six requests of one connection, then one whose client leaves. */
async function askAll(port) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method, path, body) => new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length };
    const request = http.request({ host: '127.0.0.1', port, agent, method, path, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject).end(body);
  });
  const statuses = [];
  for (const name of ['a', 'b', 'c']) statuses.push(await ask('GET', `/hello/${name}`));
  statuses.push(await ask('POST', '/items', '{"a":1}'), await ask('GET', '/boom'), await ask('GET', '/nowhere'));
  assert.deepEqual(statuses, [200, 200, 200, 201, 500, 404]);
  await new Promise((resolve) => {
    http.get({ host: '127.0.0.1', port, agent, path: '/left/early' }, (response) => {
      response.once('data', () => response.destroy());
      response.on('close', resolve).on('error', () => undefined);
    });
  });
  agent.destroy();
}
