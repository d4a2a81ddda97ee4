// Runs under `node --import portico/register` on the platform under test: each main way of serving once. Prints a line for each.
'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const https = require('node:https');
const { readFileSync } = require('node:fs');
const { once } = require('node:events');

const [certificate, key, port] = process.argv.slice(2);

async function main() {
  assert.equal(require('portico').status().active, true);
  console.log(`engine ${process.versions.portico}, Node ${process.versions.node}, ${process.platform} ${process.arch}, glibc ${glibc() ?? 'none'}`);
  await hello();
  await overTls();
  await withExpress();
  await behindHost();
  console.log('all passed');
  process.exit();
}

async function hello() {
  await serve(http.createServer((request, response) => response.end(`hello ${request.url}`)), async (own) => {
    const { status, body } = await get(http, { port: own, path: '/x' });
    assert.deepEqual({ status, body }, { status: 200, body: 'hello /x' });
  });
  console.log('http');
}

async function overTls() {
  const server = https.createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, response) => response.end(request.socket.getProtocol()));
  await serve(server, async (own) => {
    const { status, body } = await get(https, { port: own, path: '/', ca: readFileSync(certificate), servername: 'localhost' });
    assert.deepEqual({ status, body }, { status: 200, body: 'TLSv1.3' });
  });
  console.log('https');
}

async function withExpress() {
  const express = require('express');
  const app = express();
  app.use(express.json());
  app.post('/sum', (request, response) => response.json({ sum: request.body.reduce((sum, value) => sum + value, 0) }));
  await serve(http.createServer(app), async (own) => {
    const { status, body } = await get(http, { port: own, path: '/sum', method: 'POST', headers: { 'content-type': 'application/json' } }, JSON.stringify([1, 2, 39]));
    assert.deepEqual({ status, body }, { status: 200, body: '{"sum":42}' });
  });
  console.log('express');
}

async function behindHost() {
  const server = http.createServer((request, response) => response.end(`hosted ${request.url}`));
  server.listen(`http://127.0.0.1:${port}/shop/`);
  await once(server, 'listening');
  const { status, body } = await get(http, { port, path: '/shop/7' });
  assert.deepEqual({ status, body }, { status: 200, body: 'hosted /shop/7' });
  console.log('host');
}

async function serve(server, use) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await use(server.address().port);
  server.close();
  server.closeAllConnections();
}

function get(module, options, body) {
  return new Promise((resolve, reject) => {
    const request = module.request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, body: text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Undefined with another C library. */
function glibc() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime;
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
