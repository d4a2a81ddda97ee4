// Who gets the engine's classes: every way of registering, and every way of importing.

import assert from 'node:assert/strict';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageFolder, project, run } from './support/programs.mjs';

const REQUIRED = { PORTICO_REQUIRE: '1' };

/** Serves one request with what the module gives, and prints which server it was. */
const SERVE = `
  const inUse = (server) => Object.getPrototypeOf(server) !== undefined && !/\\[native/.test(String(server.listen)) && '_handle' in Object.getPrototypeOf(server);
  function check(name, module) {
    return new Promise((resolve) => {
      const server = module.createServer((request, response) => response.end('served ' + (request instanceof module.IncomingMessage)));
      server.listen(0, '127.0.0.1', () => {
        module.get({ port: server.address().port, host: '127.0.0.1', agent: false }, async (response) => {
          let text = '';
          for await (const chunk of response) text += chunk;
          server.close(() => { console.log(name, inUse(server) ? 'engine' : 'node', text, server instanceof module.Server); resolve(); });
        });
      });
    });
  }
`;

const COMMONJS = `${SERVE} check('cjs', require('http'));`;
const MODULE = `
  import * as namespace from 'node:http';
  import http, { createServer, Server, ServerResponse, IncomingMessage, get } from 'http';
  import { Server as HttpsServer, createServer as createHttps } from 'node:https';
  import https from 'https';
  ${SERVE}
  console.log(createServer === http.createServer, Server === http.Server, ServerResponse === http.ServerResponse,
    IncomingMessage === http.IncomingMessage, namespace.Server === Server, HttpsServer === https.Server, createHttps === https.createServer);
  await check('esm', { createServer, Server, ServerResponse, IncomingMessage, get });
`;
const MODULE_OUTPUT = 'true true true true true true true\nesm engine served true true\n';

test('--import and --require serve CommonJS and ES modules', async (t) => {
  const folder = project(t, { 'app.cjs': COMMONJS, 'app.mjs': MODULE });
  for (const flag of ['--import', '--require']) {
    const commonjs = await run(folder, [flag, 'portico/register', 'app.cjs'], REQUIRED);
    assert.deepEqual(commonjs, { code: 0, stdout: 'cjs engine served true true\n', stderr: '' });
    const module = await run(folder, [flag, 'portico/register', 'app.mjs'], REQUIRED);
    assert.deepEqual(module, { code: 0, stdout: MODULE_OUTPUT, stderr: '' });
  }
});

test('the first import serves, and so does the first require', async (t) => {
  const folder = project(t, { 'app.mjs': `import 'portico/register';${MODULE}`, 'app.cjs': `require('portico/register');${COMMONJS}` });
  assert.equal((await run(folder, ['app.mjs'], REQUIRED)).stdout, MODULE_OUTPUT);
  assert.equal((await run(folder, ['app.cjs'], REQUIRED)).stdout, 'cjs engine served true true\n');
});

test('without registering nothing changes', async (t) => {
  const folder = project(t, { 'app.cjs': `const { status } = require('portico'); status(); require('portico/http'); require('portico/https'); ${COMMONJS}` });
  assert.equal((await run(folder, ['app.cjs'], REQUIRED)).stdout, 'cjs node served true true\n');
});

test('registering twice, and in both ways, is the same as once', async (t) => {
  const folder = project(t, {
    'app.cjs': `
      const http = require('http');
      const { Server } = http;
      require('portico/register');
      require('portico').slipstream();
      console.log(http.Server === Server, require('portico').http().Server === Server);
      ${COMMONJS}`,
  });
  const { stdout } = await run(folder, ['--require', 'portico/register', '--import', 'portico/register', 'app.cjs'], REQUIRED);
  assert.equal(stdout, 'true true\ncjs engine served true true\n');
});

test('several copies of the package agree on the first', async (t) => {
  const folder = project(t, {
    'app.cjs': `
      const http = require('http');
      const { Server } = http;
      const copy = require('./copy');
      copy.slipstream();
      console.log(http.Server === Server, copy.http() === require('portico').http(), require('./copy/dist/http.js') === copy.http());
      ${COMMONJS}`,
  });
  const copy = join(folder, 'copy');
  for (const part of ['dist', 'package.json']) cpSync(join(packageFolder, part), join(copy, part), { recursive: true });
  symlinkSync(join(packageFolder, 'native'), join(copy, 'native'), 'dir');
  const result = await run(folder, ['--import', 'portico/register', 'app.cjs'], REQUIRED);
  assert.equal(result.stdout, 'true true true\ncjs engine served true true\n', result.stderr);
});

test('a preload that took http before does no harm', async (t) => {
  const folder = project(t, {
    'early.cjs': `const http = require('http'); const { createServer } = http; global.early = () => createServer((q, s) => s.end('early')); const emit = http.Server.prototype.emit; http.Server.prototype.emit = function (...args) { if (args[0] === 'request') global.seen = (global.seen || 0) + 1; return emit.apply(this, args); };`,
    'app.cjs': `${SERVE}
      check('cjs', require('http')).then(() => {
        console.log('seen', global.seen);
        const server = global.early();
        server.listen(0, () => require('http').get({ port: server.address().port }, (r) => { r.resume(); r.on('end', () => { server.close(); console.log(r.statusCode, server instanceof require('http').Server); }); }));
      });`,
  });
  const { stdout } = await run(folder, ['--require', './early.cjs', '--import', 'portico/register', 'app.cjs'], REQUIRED);
  assert.match(stdout, /^cjs engine served true true\nseen 1\n200 /);
});

test('threads inherit the preload, and serve', async (t) => {
  const folder = project(t, {
    'thread.cjs': COMMONJS,
    'app.cjs': `const { Worker } = require('worker_threads'); new Worker('./thread.cjs'); new Worker('./thread.cjs');`,
  });
  const result = await run(folder, ['--import', 'portico/register', 'app.cjs'], REQUIRED);
  assert.deepEqual(result, { code: 0, stdout: 'cjs engine served true true\n'.repeat(2), stderr: '' });
});

test('cluster workers inherit the preload, and share the port', async (t) => {
  const folder = project(t, {
    'app.cjs': `
      const cluster = require('cluster');
      const http = require('http');
      if (cluster.isPrimary) {
        let listening = 0;
        cluster.on('listening', (worker, { port }) => {
          if (++listening < 2) return;
          const pids = new Set();
          const ask = (left) => http.get({ port, host: '127.0.0.1', agent: false }, (r) => {
            r.setEncoding('utf8');
            r.on('data', (pid) => pids.add(pid));
            r.on('end', () => {
              if (left > 0) return ask(left - 1);
              console.log('workers', pids.size);
              for (const worker of Object.values(cluster.workers)) worker.disconnect();
            });
          });
          ask(7);
        });
        cluster.fork();
        cluster.fork();
      } else {
        http.createServer((request, response) => response.end(String(process.pid))).listen(0, '127.0.0.1');
      }`,
  });
  const result = await run(folder, ['--import', 'portico/register', 'app.cjs'], REQUIRED);
  assert.deepEqual(result, { code: 0, stdout: 'workers 2\n', stderr: '' });
});

test('portico/http and portico/https have Node\'s shape, by name too, and replace nothing', async (t) => {
  const folder = project(t, {
    'app.mjs': `
      import nodeHttp from 'node:http';
      import nodeHttps from 'node:https';
      import http, { createServer, Server, IncomingMessage, get, STATUS_CODES, Agent, METHODS, globalAgent } from 'portico/http';
      import https, { createServer as createHttps, Server as HttpsServer } from 'portico/https';
      ${SERVE}
      const missing = Object.keys(nodeHttp).filter((name) => !(name in http)).concat(Object.keys(nodeHttps).filter((name) => !(name in https)));
      console.log(missing.length, http.Server !== nodeHttp.Server, http.request === nodeHttp.request, Agent === nodeHttp.Agent,
        globalAgent === nodeHttp.globalAgent, STATUS_CODES === nodeHttp.STATUS_CODES, METHODS.length > 30, https.Server === HttpsServer,
        nodeHttps.Server !== HttpsServer, http.maxHeaderSize === nodeHttp.maxHeaderSize);
      await check('esm', { createServer, Server, IncomingMessage, get });
      await check('node', nodeHttp);`,
  });
  const { stdout, stderr } = await run(folder, ['app.mjs'], REQUIRED);
  assert.equal(stdout, '0 true true true true true true true true true\nesm engine served true true\nnode node served true true\n', stderr);
});

test('slipstream replaces both, or one at a time, as httpsys had it', async (t) => {
  const folder = project(t, {
    'one.cjs': `
      const http = require('http'); const https = require('https'); const before = [http.Server, https.Server];
      const portico = require('portico');
      portico.http.slipstream();
      console.log(http.Server !== before[0], https.Server === before[1]);
      portico.https.slipstream();
      console.log(https.Server !== before[1], portico.https().Server === https.Server, portico.http().createServer === http.createServer);
      ${COMMONJS}`,
    'isolated.cjs': `const http = require('portico').http(); ${SERVE} check('isolated', http);`,
  });
  assert.equal((await run(folder, ['one.cjs'], REQUIRED)).stdout, 'true true\ntrue true true\ncjs engine served true true\n');
  assert.equal((await run(folder, ['isolated.cjs'], REQUIRED)).stdout, 'isolated engine served true true\n');
});

test('clients stay Node\'s own', async (t) => {
  const folder = project(t, {
    'app.cjs': `
      const http = require('http');
      const before = { ...Object.getOwnPropertyDescriptors(http) };
      require('portico').slipstream();
      const after = Object.getOwnPropertyDescriptors(http);
      console.log(Object.keys(after).filter((name) => before[name]?.value !== after[name].value || before[name]?.get !== after[name].get).sort().join());`,
  });
  const added = ['websocketMask', 'websocketUnmask'].filter((name) => !(name in http));
  assert.equal((await run(folder, ['app.cjs'], REQUIRED)).stdout, `${['IncomingMessage,Server,ServerResponse,createServer', ...added]}\n`);
});

test('the types are those of Node\'s modules', async (t) => {
  const folder = project(t, {
    'sample.mts': `
      import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'portico/http';
      import https from 'portico/https';
      import { http, slipstream, status } from 'portico';
      const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => { response.end(request.url); });
      server.maxHeadersCount = 10;
      const secure: https.Server = https.createServer({ key: 'k', cert: 'c' });
      secure.addContext('a', {});
      slipstream();
      http.slipstream();
      http().createServer().listen(0);
      const { active, reason }: { active: boolean; reason?: string } = status();
      console.log(active, reason);`,
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'],
        typeRoots: [join(packageFolder, '../../node_modules/@types')], preserveSymlinks: false,
      },
    }),
  });
  const compiler = join(packageFolder, '../../node_modules/typescript/bin/tsc');
  const { code, stdout, stderr } = await run(folder, [compiler, '-p', '.']);
  assert.equal(code, 0, stdout + stderr);
});

test('responses have the members of their own that the page about compatibility names, and inherit the others', async (t) => {
  const folder = project(t, { 'members.cjs': `
    const { OutgoingMessage, ServerResponse } = require('http');
    const names = (prototype) => Object.getOwnPropertyNames(prototype).filter((name) => !name.startsWith('_') && name !== 'constructor');
    const own = new Set();
    for (let at = ServerResponse.prototype; at !== OutgoingMessage.prototype; at = Object.getPrototypeOf(at)) names(at).forEach((name) => own.add(name));
    const all = names(OutgoingMessage.prototype);
    console.log(JSON.stringify({ all, own: all.filter((name) => own.has(name)) }));` });
  const { all, own } = JSON.parse((await run(folder, ['--require', 'portico/register', 'members.cjs'], REQUIRED)).stdout);
  const page = readFileSync(join(packageFolder, '../../docs/compatibility.md'), 'utf8');
  const [, list] = /These members of `http.OutgoingMessage.prototype`.*?: (.*?);/.exec(page);
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  assert.deepEqual(named.filter((name) => all.includes(name)).sort(), own.sort());
});

test('node:http2 is replaced where HTTP/2 is asked for, for require and import', async (t) => {
  const use = `
    const server = createServer((request, response) => response.end(request.httpVersion));
    server.listen(0, '127.0.0.1', () => {
      const client = connect('http://127.0.0.1:' + server.address().port);
      client.request().setEncoding('utf8').on('data', (text) => {
        console.log(Object.getPrototypeOf(server).hasOwnProperty('_handle') ? 'engine' : 'node', text);
        client.close();
        server.close();
      });
    });`;
  const folder = project(t, { 'app.cjs': `const { createServer, connect } = require('http2');${use}`, 'app.mjs': `import { createServer, connect } from 'node:http2';${use}` });
  for (const app of ['app.cjs', 'app.mjs']) {
    for (const [setting, stdout] of [['1', 'engine 2.0\n'], ['', 'node 2.0\n']]) {
      const result = await run(folder, ['--import', 'portico/register', app], { ...REQUIRED, PORTICO_HTTP2: setting });
      assert.deepEqual(result, { code: 0, stdout, stderr: '' });
    }
  }
});
