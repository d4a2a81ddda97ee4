// The host itself: who may do what, certificates, going and coming.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { curl, eventually, request } from '../support/clients.mjs';
import { startLoad } from '../support/load.mjs';
import { testsFolder } from '../support/mode.mjs';
import { startNode } from '../support/child.mjs';
import { freePort } from '../support/free-port.mjs';
import { portico, startHost } from '../support/start-host.mjs';

const APP = 'host/apps/member.cjs';
const run = promisify(execFile);
const isRoot = process.getuid() === 0;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A certificate that no client trusts. */
function certificate(folder, name, subject = '/CN=localhost') {
  const [key, file] = ['key', 'crt'].map((kind) => join(folder, `${name}.${kind}`));
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', subject,
    '-addext', `subjectAltName=DNS:${name}`, '-keyout', key, '-out', file], { stdio: 'ignore' });
  return { key, file };
}

/** Why processes of other users can't be started here; false if they can. */
function noOtherUsers() {
  if (!isRoot) return 'only root can start processes of other users';
  for (const file of [testsFolder, process.execPath]) {
    for (let path = file; path !== '/'; path = dirname(path)) {
      if ((statSync(path).mode & 0o005) !== 0o005) return `other users can't read ${path}`;
    }
  }
  return false;
}

describe('two users, one port', { skip: noOtherUsers() }, () => {
  const [ALICE, BOB] = [61_001, 61_002];
  const asUser = (host, uid, prefix, ready) => {
    chmodSync(host.folder, 0o755);
    chmodSync(host.socket, 0o666);
    return host.member(APP, prefix, { uid, ready, args: [`user ${uid}`] });
  };

  test('each registers its own, and neither takes the other one’s', async (t) => {
    const host = await startHost(t);
    await asUser(host, ALICE, `http://*:${host.port}/alice/`);
    await asUser(host, BOB, `http://*:${host.port}/bob/`);
    assert.equal(await curl(`${host.url}/alice/name`), `user ${ALICE}`);
    assert.equal(await curl(`${host.url}/bob/name`), `user ${BOB}`);
    const refused = await asUser(host, BOB, `http://*:${host.port}/alice/`, /^error/);
    assert.match(refused.output(), /error ERR_PORTICO_PREFIX_TAKEN/);
  });

  test('a reservation decides who may register, and answers 503 while no process does', async (t) => {
    const host = await startHost(t);
    await host.cli('reserve', 'add', `http://*:${host.port}/alice/`, '--user', String(ALICE));
    await host.member(APP, `http://*:${host.port}/`);
    const before = await request(`${host.url}/alice/`);
    assert.equal(before.status, 503);
    assert.ok(Number(before.headers['retry-after']) > 0);
    const refused = await asUser(host, BOB, `http://*:${host.port}/alice/x/`, /^error/);
    assert.match(refused.output(), /error ERR_PORTICO_PREFIX_RESERVED/);
    await asUser(host, ALICE, `http://*:${host.port}/alice/`);
    assert.equal(await curl(`${host.url}/alice/name`), `user ${ALICE}`);
  });
});

describe('certificates', () => {
  test('the application has TLS without a key; a new certificate is used without dropping anything', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-tls-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const [first, second] = [certificate(folder, 'localhost', '/CN=first'), certificate(folder, 'other', '/CN=second')];
    const port = await freePort();
    const configuration = `[[certificate]]\nport = ${port}\ncertificate = "${first.file}"\nkey = "${first.key}"\n`;
    const host = await startHost(t, { configuration });
    await host.member('host/apps/secure.cjs', `https://*:${port}/`);
    // Neither a kept connection nor a resumed session: both would show the certificate of before.
    const fresh = () => new https.Agent({ keepAlive: false, maxCachedSessions: 0 });
    const ask = (agent = fresh()) => new Promise((resolve, reject) => {
      https.get({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false, agent }, (response) => {
        const { CN } = response.socket.getPeerCertificate().subject;
        let body = '';
        response.on('data', (part) => (body += part)).on('end', () => resolve({ CN, ...JSON.parse(body) }));
      }).on('error', reject);
    });
    const facts = await ask();
    assert.equal(facts.CN, 'first');
    assert.equal(facts.encrypted, true);
    assert.equal(facts.protocol, 'TLSv1.3');
    assert.equal(facts.servername, 'localhost');
    const kept = new https.Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => kept.destroy());
    assert.equal((await ask(kept)).CN, 'first');
    writeFileSync(first.key, readFileSync(second.key));
    writeFileSync(first.file, readFileSync(second.file));
    await host.cli('reload');
    await eventually(async () => (await ask()).CN === 'second', 'new connections get the new certificate');
    assert.equal((await ask(kept)).CN, 'first', 'the kept connection lives on');
  });
});

describe('client certificates', () => {
  test('arrive as they do in https', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-mtls-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const [server, client] = [certificate(folder, 'localhost', '/CN=server'), certificate(folder, 'client', '/CN=Ada')];
    const port = await freePort();
    const configuration = `[[certificate]]\nport = ${port}\ncertificate = "${server.file}"\nkey = "${server.key}"\n`
      + `client_ca = "${client.file}"\nrequest_client_certificate = true\n`;
    const host = await startHost(t, { configuration });
    await host.member('host/apps/secure.cjs', `https://*:${port}/`);
    const ask = async (...args) => JSON.parse(await curl('--cacert', server.file, '--resolve', `localhost:${port}:127.0.0.1`, ...args, `https://localhost:${port}/`));
    const known = await ask('--cert', client.file, '--key', client.key);
    assert.deepEqual([known.authorized, known.subject, known.error], [true, 'Ada', null]);
    const without = await ask();
    assert.equal(without.authorized, false);
    assert.equal(without.subject, null);
  });
});

/** Where a user's own host is, with the environment that says so. `TMPDIR` says nothing. */
function ownPlace(folder) {
  const env = { ...process.env, XDG_RUNTIME_DIR: folder, TMPDIR: join(folder, 'tmp'), PORTICO_PROGRAM: portico, XDG_STATE_HOME: folder, PORTICO_REQUIRE: '1' };
  delete env.PORTICO_HOST;
  delete env.NODE_TEST_CONTEXT;
  return { socket: join(folder, 'portico', 'host.sock'), env };
}

/** Starts a member that no host of the test's is behind. Resolves when it listens, or has said why not. */
async function startAlone(t, env, prefix, name, { uid } = {}) {
  const { child, match } = await startNode(['--import', 'portico/register', join(testsFolder, APP), prefix, name], {
    ready: uid === undefined ? /^listening/ : /^(listening|error) .*/, started: ({ kill }) => t.after(() => kill()),
    cwd: testsFolder, env, ...(uid !== undefined && { uid, gid: uid }),
  });
  child.said = match[0];
  return child;
}

describe('a host on demand', () => {
  test('is started by the first process, shared by the next, and ends after the last', { timeout: 120_000 }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-demand-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const { socket, env } = ownPlace(folder);
    const port = await freePort();
    const start = (path) => startAlone(t, env, `http://*:${port}${path}`, path);
    const children = await Promise.all([start('/a/'), start('/b/')]);
    assert.equal(await curl(`http://127.0.0.1:${port}/a/name`), '/a/');
    assert.equal(await curl(`http://127.0.0.1:${port}/b/name`), '/b/');
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(children.map((child) => once(child, 'exit')));
    await eventually(() => !existsSync(socket), 'the host ends', 30_000);
  });

  test('gives way to one that is started on purpose, and the processes move there', { timeout: 120_000 }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-way-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const { socket, env } = ownPlace(folder);
    const port = await freePort();
    await startAlone(t, env, `http://*:${port}/`, 'it');
    const host = spawn(portico, ['host', '--socket', socket, '--state', folder], { env, stdio: 'ignore' });
    t.after(() => host.kill('SIGKILL'));
    const ask = async () => JSON.parse((await run(portico, ['status', '--json'], { env })).stdout);
    await eventually(async () => {
      const status = await ask().catch(() => undefined);
      return status?.pid === host.pid && status.prefixes.some(({ processes }) => processes.length === 1);
    }, 'the process is with the new host', 30_000);
    assert.equal((await ask()).on_demand, false);
    assert.equal(await curl(`http://127.0.0.1:${port}/name`), 'it');
    assert.equal(statSync(join(folder, 'portico')).mode & 0o777, 0o700);
  });

  test('is not started in a folder that is another user’s', { skip: noOtherUsers() }, async (t) => {
    const [ANN, BOB] = [61_003, 61_004];
    const folder = mkdtempSync(join(tmpdir(), 'portico-other-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'portico'));
    chownSync(join(folder, 'portico'), BOB, BOB);
    const { env } = ownPlace(folder);
    const child = await startAlone(t, env, 'http://*:18080/', 'it', { uid: ANN });
    assert.match(child.said, /error ERR_PORTICO_HOST_FOLDER/);
    assert.deepEqual(readdirSync(join(folder, 'portico')), []);
    chownSync(join(folder, 'portico'), ANN, ANN);
    chmodSync(join(folder, 'portico'), 0o777);
    const second = await startAlone(t, env, 'http://*:18080/', 'it', { uid: ANN });
    assert.match(second.said, /error ERR_PORTICO_HOST_FOLDER/);
  });
});

describe('going', () => {
  test('a host that is killed is started again by its processes where it is their user’s own', { timeout: 120_000 }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-again-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const { env } = ownPlace(folder);
    const port = await freePort();
    await startAlone(t, env, `http://*:${port}/`, 'still here');
    const { pid } = JSON.parse((await run(portico, ['status', '--json'], { env })).stdout);
    process.kill(pid, 'SIGKILL');
    await eventually(async () => (await curl(`http://127.0.0.1:${port}/name`).catch(() => '')) === 'still here', 'a host serves again', 20_000);
  });

  test('a host that PORTICO_HOST names is not replaced by its processes; they wait for it', { timeout: 120_000 }, async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`, { args: ['still here'] });
    host.child.kill('SIGKILL');
    await once(host.child, 'exit');
    // It has tried, and says so.
    await eventually(() => member.output().includes('PORTICO_HOST_LOST'), 'the process notices', 20_000);
    await assert.rejects(host.cli('status'), { code: 3 });
    const again = spawn(portico, ['host', '--config', host.file, '--socket', host.socket, '--state', host.folder], { env: host.env, stdio: 'ignore' });
    t.after(() => again.kill('SIGKILL'));
    await eventually(async () => (await curl(`${host.url}/name`).catch(() => '')) === 'still here', 'the host serves again', 20_000);
    assert.equal((await host.status()).pid, again.pid);
  });

  test('an upgrade under load fails no request', { timeout: 120_000 }, async (t) => {
    const host = await startHost(t);
    await host.member(APP, `http://*:${host.port}/a/`, { args: ['a'] });
    await host.member(APP, `http://*:${host.port}/b/`, { args: ['b'] });
    const load = startLoad(host.url, { connections: 12, paths: ['/a/name', '/b/slow?ms=20', '/b/name'], check: (status, body, path) => status === 200 && path.startsWith(`/${body}`) });
    await pause(500);
    const before = (await host.status()).pid;
    await host.cli('upgrade');
    await pause(1500);
    assert.notEqual((await host.status()).pid, before);
    await host.cli('upgrade');
    await pause(1500);
    const { sent, failures } = await load.stop();
    assert.deepEqual(failures, []);
    assert.ok(sent > 200, `${sent} requests`);
  });

  for (const unref of ['', '.unref()']) {
    test(`a process that only closes its server${unref} hears that it has closed, and ends`, { timeout: 60_000 }, async (t) => {
      const host = await startHost(t);
      const script = `const server = require('node:http').createServer();
        server.on('close', () => console.log('close'));
        server.listen('http://*:${host.port}/', () => server${unref}.close(() => console.log('callback')));`;
      const { stdout } = await run(process.execPath, ['--import', 'portico/register', '-e', script], { cwd: testsFolder, env: host.env });
      assert.deepEqual(stdout.trim().split('\n').sort(), ['callback', 'close']);
    });
  }

  test('status --requests says who has a request, and what it waits for', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`);
    const found = async () => JSON.parse((await host.cli('status', '--requests', '--json')).stdout);
    assert.deepEqual((await found()).requests, []);
    const socket = net.connect(host.port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.write('POST /never HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
    await host.hasTaken(member, 1);
    const { processes, requests } = await found();
    assert.deepEqual([...new Set(processes.map(({ pid }) => pid))], [member.pid]);
    assert.ok(processes.some(({ state }) => /, 0 bytes not taken, 0 bytes of answers not applied, 1 in flight/.test(state)), JSON.stringify(processes));
    const [{ pid, prefix, sequence, state, connection_state: connectionState }] = requests;
    assert.deepEqual({ pid, prefix, sequence }, { pid: member.pid, prefix: `http://*:${host.port}/`, sequence: 1 });
    assert.match(state, /^with its process, its body arrives, answer Awaited/);
    assert.match(connectionState, /^in a body with 5 bytes to come, 0 bytes kept, request 1 came last, 1 in work/);
    assert.match((await host.cli('status', '--requests')).stdout, new RegExp(`process ${member.pid}, since \\d+ ms: with its process`));
  });

  test('stop lets requests in flight finish', async (t) => {
    const host = await startHost(t);
    const member = await host.member(APP, `http://*:${host.port}/`, { args: ['done'] });
    const slow = curl(`${host.url}/slow?ms=800`);
    await host.hasTaken(member, 1);
    const stopped = promisify(execFile)(portico, ['stop', '--socket', host.socket], { env: host.env });
    assert.equal(await slow, 'done');
    await stopped;
  });
});
