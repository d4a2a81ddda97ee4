// Flags of Node's that are about TLS servers.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';
import { project, run } from './support/programs.mjs';

const workshop = certificates();
const APP = `
  const https = require('https');
  const fs = require('fs');
  const pair = { key: fs.readFileSync('key'), cert: fs.readFileSync('cert') };
  const server = https.createServer(pair, (q, r) => r.end(q.socket.getProtocol() + ' ' + (q.socket.constructor === require('tls').TLSSocket)));
  server.listen(0, '127.0.0.1', () => https.get({ port: server.address().port, host: '127.0.0.1', rejectUnauthorized: false, agent: false }, async (r) => {
    let text = '';
    for await (const chunk of r) text += chunk;
    console.log(text);
    server.close();
  }));
`;

const mode = process.env.PORTICO_DISABLE ? { PORTICO_DISABLE: '1' } : { PORTICO_REQUIRE: '1' };
const site = (t) => {
  const { key, cert } = workshop.issue(`flags-${Math.random().toString(36).slice(2)}`);
  return project(t, { 'app.cjs': APP, key, cert });
};

test('--tls-keylog writes the lines of every server to its file', async (t) => {
  const folder = site(t);
  const { code, stdout } = await run(folder, ['--tls-keylog=keys.log', '--import', 'portico/register', 'app.cjs'], mode);
  assert.equal(code, 0);
  assert.equal(stdout, 'TLSv1.3 true\n');
  const lines = readFileSync(join(folder, 'keys.log'), 'latin1').trim().split('\n').map((line) => line.split(' ').slice(0, 2).join(' '));
  // The client of the same process writes there too: each line is there twice.
  assert.equal(lines.length, 10);
  assert.equal(new Set(lines).size, 5);
});

test('--tls-max-v1.2, --tls-min-v1.3 and --tls-cipher-list count', async (t) => {
  const folder = site(t);
  assert.equal((await run(folder, ['--tls-max-v1.2', '--import', 'portico/register', 'app.cjs'], mode)).stdout, 'TLSv1.2 true\n');
  assert.equal((await run(folder, ['--tls-min-v1.3', '--import', 'portico/register', 'app.cjs'], mode)).stdout, 'TLSv1.3 true\n');
  const { stdout } = await run(folder, ['--tls-max-v1.2', '--tls-cipher-list=ECDHE-ECDSA-AES256-GCM-SHA384', '--import', 'portico/register', 'app.cjs'], mode);
  assert.equal(stdout, 'TLSv1.2 true\n');
});

test('--trace-tls is served by Node\'s own TLS, with one notice', { skip: process.env.PORTICO_DISABLE && 'reference run' }, async (t) => {
  const folder = site(t);
  const { code, stdout, stderr } = await run(folder, ['--trace-tls', '--import', 'portico/register', 'app.cjs'], mode);
  assert.equal(code, 0);
  assert.equal(stdout, 'TLSv1.3 true\n');
  assert.equal(stderr.match(/PORTICO_STOCK_SERVER/g).length, 1);
  assert.match(stderr, /(Sent|Received) (TLS )?Record/);
});
