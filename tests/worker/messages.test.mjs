// What a worker's process says to its host on the worker's connection, and what it is told there. The host here is a socket
// that speaks the control protocol and does nothing else.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { startProgram } from '../support/child.mjs';
import { eventually } from '../support/clients.mjs';
import { testsFolder } from '../support/mode.mjs';
import { workerEnvironment } from '../support/start-worker.mjs';

const APP = join(testsFolder, 'worker/apps/messages.cjs');

/** A host's control socket. `lines` is what was heard, `say` speaks to the last connection. */
async function startSocket(t, { answer = { type: 'worker' } } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-socket-'));
  const socket = join(folder, 'host.sock');
  const host = { lines: [], connections: [], members: [], env: { ...process.env, PORTICO_HOST: socket, PORTICO_REQUIRE: '1' } };
  delete host.env.NODE_TEST_CONTEXT;
  const server = net.createServer((connection) => {
    host.connections.push(connection);
    connection.on('error', () => undefined);
    createInterface({ input: connection }).on('line', (line) => {
      const message = JSON.parse(line);
      host.lines.push(message);
      if (message.type === 'worker') host.say(answer);
    });
  });
  host.open = async () => once(server.listen(socket), 'listening');
  host.close = async () => {
    const closed = new Promise((resolve) => server.close(resolve)); // also where it has been closed
    for (const connection of host.connections) connection.destroy();
    await closed;
  };
  host.say = (message) => host.connections.at(-1).write(`${JSON.stringify(message)}\n`);
  host.types = () => host.lines.map(({ type }) => type);
  host.start = (scene, { ready = /./, env = { PORTICO_WORKER: 'shop.0.1' } } = {}) => startProgram([process.execPath, APP, scene], {
    cwd: testsFolder, env: workerEnvironment(host, { listen: {}, env }), ready: ready ?? { exec: () => [] },
    started: (program) => t.after(() => program.kill('SIGKILL')),
  });
  await host.open();
  t.after(async () => {
    await host.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return host;
}

test('a program that says that it is ready is heard, with the worker’s name and the process', async (t) => {
  const host = await startSocket(t);
  const program = await host.start('ready');
  await eventually(() => host.types().includes('ready'), 'the host hears it');
  const [{ type, id, protocol, process: { pid, program: name } }] = host.lines;
  assert.deepEqual({ type, id, protocol, pid, name }, { type: 'worker', id: 'shop.0.1', protocol: host.lines[0].protocol, pid: program.pid, name: 'messages.cjs' });
  assert.equal(program.output(), 'sent true');
});

test('a host that comes back is told again', async (t) => {
  const host = await startSocket(t);
  await host.start('ready');
  await eventually(() => host.types().includes('ready'), 'the host hears it');
  await host.close();
  host.lines.length = 0;
  await host.open();
  await eventually(() => host.types().includes('ready'), 'it hears it again');
  assert.deepEqual(host.types(), ['worker', 'ready']);
});

test('a host asks how a process is', async (t) => {
  const host = await startSocket(t);
  await host.start('ready');
  await eventually(() => host.types().includes('ready'), 'the host hears it');
  host.say({ type: 'ping', id: 7 });
  await eventually(() => host.types().includes('pong'), 'it is answered');
  const { type, id, heap_used: used, heap_total: total, rss, event_loop: loop } = host.lines.at(-1);
  assert.deepEqual([type, id], ['pong', 7]);
  assert.ok(used > 1e6 && total >= used && rss > used && loop >= 0 && loop <= 1, JSON.stringify(host.lines.at(-1)));
});

test('a program hears `shutdown`, and the host whether it did', async (t) => {
  const host = await startSocket(t);
  const hears = host.start('hears', { ready: /^message/ });
  await eventually(() => host.types().includes('worker'), 'a listener opens the connection');
  host.say({ type: 'shutdown' });
  await eventually(() => host.types().includes('shutdown'), 'it is answered');
  assert.equal(host.lines.at(-1).heard, true);
  host.say({ type: 'message', data: { colour: 'red' } });
  const program = await hears;
  await eventually(() => program.output().includes('red'), 'it hears anything');
  assert.deepEqual(program.output().split('\n'), ['message "shutdown"', 'message {"colour":"red"}']);
  const deaf = await startSocket(t);
  await deaf.start('ready');
  await eventually(() => deaf.types().includes('ready'), 'the host hears it');
  deaf.say({ type: 'shutdown' });
  await eventually(() => deaf.types().includes('shutdown'), 'it is answered');
  assert.equal(deaf.lines.at(-1).heard, false);
});

test('the connection keeps no process alive', async (t) => {
  const host = await startSocket(t);
  const program = await host.start('ends by itself');
  assert.deepEqual(await program.ended, [0, null]);
  assert.deepEqual(program.output().split('\n'), ['callback null', 'over']);
});

test('what is not for the host goes nowhere', async (t) => {
  const host = await startSocket(t);
  const program = await host.start('says other things');
  assert.deepEqual(await program.ended, [0, null]);
  assert.deepEqual([program.output(), host.lines], ['callback null', []]);
});

test('recycle() resolves when the host has heard it, also where the host is replaced before it answers', async (t) => {
  const host = await startSocket(t);
  const heard = host.start('recycle', { ready: /^heard/ });
  await eventually(() => host.types().includes('recycle'), 'the host hears it');
  assert.equal(host.lines.at(-1).reason, 'the cache is large');
  await host.close();
  host.lines.length = 0;
  await host.open();
  await eventually(() => host.types().includes('recycle'), 'it hears it again');
  host.say({ type: 'recycling' });
  assert.deepEqual(await (await heard).ended, [0, null]);
});

test('recycle() is refused by the host, or where there is none', async (t) => {
  const host = await startSocket(t);
  const refused = host.start('recycle');
  await eventually(() => host.types().includes('recycle'), 'the host hears it');
  host.say({ type: 'error', code: 'ERR_PORTICO_LIMIT', message: 'not now' });
  assert.equal((await refused).output(), 'refused ERR_PORTICO_LIMIT not now');
  const older = await startSocket(t, { answer: { type: 'error', code: 'ERR_PORTICO_REQUEST', message: 'what is a worker?' } });
  assert.equal((await older.start('recycle')).output(), 'refused ERR_PORTICO_REQUEST what is a worker?');
  assert.match((await host.start('recycle', { env: { PORTICO_WORKER: '' } })).output(), /^refused ERR_PORTICO_NO_WORKER This process was not started by a process host/);
  assert.equal((await host.start('thread')).output(), 'refused ERR_PORTICO_NO_WORKER undefined');
});

test('a process that the program has forked speaks with the program', async (t) => {
  const host = await startSocket(t);
  const program = await host.start('child');
  assert.equal(program.output(), 'from the child ready');
  assert.deepEqual(host.lines, []);
});
