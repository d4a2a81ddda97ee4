// Agents that are loaded before Portico wrap members of Node's own classes. Their wrappers are called as on node:http, and
// the bytes are the same.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readCounters } from '../support/counters.mjs';
import { environment, plain, preload } from '../support/mode.mjs';
import certificate from './lib/certificate.cjs';
import { assertSame, scenarioLogs } from './lib/scenario-logs.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'portico-before-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
const [key, cert] = ['key', 'cert'].map((name) => join(scratch, `${name}.pem`));
for (const [name, path] of Object.entries({ key, cert })) writeFileSync(path, certificate[name]);

const file = (name) => join(import.meta.dirname, name);
const response = (...names) => names.map((name) => `http.ServerResponse.${name}`).join();

const WRAPPED = {
  'writeHead': response('writeHead'),
  'write and end': response('write', 'end'),
  'write alone': response('write'),
  'end alone': response('end'),
  'the header methods': response('setHeader', 'getHeader', 'hasHeader', 'removeHeader', 'appendHeader', 'addTrailers'),
  'all documented output methods': response('writeHead', 'write', 'end', 'setHeader', 'removeHeader', 'appendHeader', 'flushHeaders', 'cork', 'destroy'),
  'methods of the root class': ['write', 'end', 'setHeader', 'flushHeaders'].map((name) => `http.OutgoingMessage.${name}`).join(),
  'emit of the classes': 'http.ServerResponse.emit,http.IncomingMessage.emit,http.Server.emit',
  'the factories': 'http.createServer,https.createServer',
  'members of the servers': 'http.Server.listen,http.Server.close,https.Server.close,http.Server.setTimeout,http.Server.closeAllConnections',
  'what an agent wraps': `http.createServer,https.createServer,http.Server.emit,https.Server.emit,${response('writeHead', 'write', 'end', 'setHeader', 'removeHeader', 'appendHeader', 'emit')}`,
};

const logsOf = (wrapped, flags, env, only) => scenarioLogs(file('preloads/scenarios.cjs'), ['--require', file('preloads/wrappers.cjs'), ...flags], {
  ...env, WRAPPED: wrapped, HTTPS_KEY: key, HTTPS_CERT: cert, NODE_NO_WARNINGS: '',
}, only);

describe('wrappers that were there before', { concurrency: 2 }, () => {
  for (const [name, wrapped] of Object.entries(WRAPPED)) {
    test(name, async (t) => {
      const counters = join(scratch, name.replaceAll(' ', '-'));
      const both = (only) => Promise.all([
        logsOf(wrapped, [], { ...environment(''), PORTICO_REQUIRE: '' }, only), logsOf(wrapped, preload, environment(counters), only),
      ]);
      const [node, portico] = await both();
      assert.deepEqual(Object.keys(portico.logs), Object.keys(node.logs));
      for (const scenario of Object.keys(node.logs)) {
        const again = async () => {
          const [alone, other] = await both(scenario);
          return { node: alone.logs[scenario], portico: other.logs[scenario] };
        };
        await assertSame(t, { node: node.logs[scenario], portico: portico.logs[scenario] }, { again });
      }
      assert.doesNotMatch(portico.stderr, /PORTICO_PATCHED_BEFORE/);
      if (!plain) assert.ok(readCounters(counters).connections > 0, 'the engine served them');
    });
  }

  test('what cannot be used is named in one warning', { skip: plain }, async () => {
    const wrapped = 'http.ServerResponse._send,http.ServerResponse.assignSocket,http.IncomingMessage._dump';
    const { stderr } = await logsOf(wrapped, preload, environment(join(scratch, 'lost')));
    const lines = stderr.split('\n').filter((line) => line.includes('PORTICO_PATCHED_BEFORE'));
    assert.equal(lines.length, 1, stderr);
    for (const name of ['IncomingMessage.prototype._dump', 'ServerResponse.prototype._send', 'ServerResponse.prototype.assignSocket']) {
      assert.ok(lines[0].includes(name), lines[0]);
    }
  });
});
