// maxHeaderSize beyond what an engine takes: a value that is not honoured must not go unnoticed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project, run } from './support/programs.mjs';

const MEBIBYTE = 1 << 20;
const MOST = 8 * MEBIBYTE; // of an engine

/** Serves one request with a head of many bytes, and prints the answer, and the warnings. */
const PROGRAM = `
  const http = require('http');
  const [bytes, maxHeaderSize] = process.argv.slice(-2).map(Number);
  process.on('warning', ({ code, message }) => console.log(code, message));
  const server = http.createServer(maxHeaderSize > 0 ? { maxHeaderSize } : {}, (request, response) => response.end(String(request.headers.long.length)));
  server.listen(0, '127.0.0.1', () => {
    const headers = { long: 'v'.repeat(bytes) };
    const request = http.get({ port: server.address().port, host: '127.0.0.1', agent: false, headers }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      console.log(response.statusCode, text);
      server.close();
    });
    request.on('error', () => { console.log('refused'); server.close(); });
  });
`;
const WARNING = `PORTICO_STOCK_SERVER A server with a maxHeaderSize above ${MOST} bytes is served by node:http itself: Portico takes no longer heads.\n`;

for (const [drive, env] of [['in the event loop', {}], ['on a thread', { PORTICO_THREADS: '1' }]]) {
  test(`maxHeaderSize is honoured whatever it is: ${drive}`, async (t) => {
    const folder = project(t, { 'program.cjs': PROGRAM });
    const serve = async (bytes, maxHeaderSize, flags = []) => {
      const args = ['--require', 'portico/register', ...flags, 'program.cjs', String(bytes), String(maxHeaderSize)];
      const { stdout, stderr } = await run(folder, args, { ...env, PORTICO_REQUIRE: '1', NODE_NO_WARNINGS: '1' });
      return stdout === '' ? stderr : stdout;
    };
    const [below, above] = [MOST - 64 * 1024, MOST + 64 * 1024];
    assert.equal(await serve(100_000, 200_000), '200 100000\n');
    assert.equal(await serve(below, MOST), `200 ${below}\n`);
    assert.equal(await serve(above, MOST + MEBIBYTE), `${WARNING}200 ${above}\n`);
    // The flag's value, for servers without the option.
    assert.equal(await serve(3 * MEBIBYTE, 0, [`--max-http-header-size=${4 * MEBIBYTE}`]), `200 ${3 * MEBIBYTE}\n`);
    assert.equal(await serve(above, 0, [`--max-http-header-size=${MOST + MEBIBYTE}`]), `${WARNING}200 ${above}\n`);
  });
}
