// A server that Node's own stack serves can't listen on a URL prefix: the error says why that one can't.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const folder = new URL('..', import.meta.url).pathname;

const errorOf = (make) => {
  const program = `const http = require('node:http'); const server = ${make};
    server.on('error', ({ code, message }) => console.log(JSON.stringify({ code, message })));
    server.listen('http://*:1/');`;
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000, env: { ...process.env, PORTICO_HOST: '/nonexistent/host.sock' }, stdio: ['ignore', 'pipe', 'ignore'] };
  return JSON.parse(execFileSync(process.execPath, ['--import', 'portico/register', '-e', program], options));
};

test('a server whose listener of connections was removed says so', () => {
  const { code, message } = errorOf('http.createServer().removeAllListeners(\'connection\')');
  assert.equal(code, 'ERR_PORTICO_STOCK_SERVER');
  assert.match(message, /listener of 'connection' .* was removed/);
  assert.doesNotMatch(message, /lenient|OpenSSL/);
});

for (const [module, event] of [['http', 'connection'], ['https', 'connection'], ['https', 'secureConnection']]) {
  test(`a program that takes the place of the listener of '${event}' of ${module} gets sockets, and is told once`, () => {
    const program = `const server = require('node:${module}').createServer();
      process.on('warning', ({ code }) => console.log(code));
      server.removeAllListeners('${event}').on('${event}', () => undefined);
      server.listen(0, '127.0.0.1', () => server.close(() => server.listen(0, '127.0.0.1', () => server.close())));`;
    const options = { cwd: folder, encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'ignore'] };
    const told = execFileSync(process.execPath, ['--import', 'portico/register', '-e', program], options);
    assert.equal(told, 'PORTICO_STOCK_SERVER\n');
  });
}

test('a server with lenient parsing says so', () => {
  const { code, message } = errorOf('http.createServer({ insecureHTTPParser: true })');
  assert.equal(code, 'ERR_PORTICO_STOCK_SERVER');
  assert.match(message, /lenient/);
  assert.doesNotMatch(message, /removed/);
});
