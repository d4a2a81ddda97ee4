// Starts a host of its own for a test, with a control socket in a folder of its own, and processes that register there.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { testsFolder } from './mode.mjs';

const run = promisify(execFile);
const START_LIMIT_MS = 60_000;

/** The program, as `make build` leaves it. */
export const portico = process.env.PORTICO_PROGRAM ?? join(testsFolder, '../target/release/portico');

/** A port that nothing listens on. */
export async function freePort() {
  const server = net.createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Starts a host and resolves once it takes registrations, with `{ port, url, socket, folder, child, cli, member,
 * status, output, stop }`. `port` is one that is free; `configuration` is the text of a portico.toml.
 */
export async function startHost(t, { configuration = '', args = [], env = {} } = {}) {
  assert.ok(existsSync(portico), `${portico} is missing: run make build`);
  const folder = mkdtempSync(join(tmpdir(), 'portico-host-'));
  const socket = join(folder, 'host.sock');
  const file = join(folder, 'portico.toml');
  writeFileSync(file, configuration);
  const port = await freePort();
  const own = { ...process.env, PORTICO_HOST: socket, PORTICO_PROGRAM: portico, XDG_STATE_HOME: folder, PORTICO_REQUIRE: '1', ...env };
  delete own.NODE_OPTIONS;
  delete own.NODE_TEST_CONTEXT;
  const child = spawn(portico, ['host', '--config', file, '--socket', socket, '--state', folder, ...args], { env: own, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = [];
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  const host = {
    port, url: `http://127.0.0.1:${port}`, socket, folder, file, child, env: own, members: [],
    output: () => lines.join('\n'),
    cli: (...words) => run(portico, [...words, '--socket', socket], { env: own }),
    status: async () => JSON.parse((await host.cli('status', '--json')).stdout),
    member: (app, prefix, options) => startMember(host, app, prefix, options),
  };
  t.after(async () => {
    for (const member of host.members) await member.kill('SIGKILL');
    await stop(child);
    // A host that took over from this one.
    await host.cli('stop').catch(() => undefined);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });
  const limit = Date.now() + START_LIMIT_MS;
  while (!(await answers(socket))) {
    assert.ok(Date.now() < limit && child.exitCode === null, `the host does not answer; output:\n${host.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return host;
}

/** Starts a program that listens on a prefix and prints `listening` once it does. */
export async function startMember(host, app, prefix, { args = [], env = {}, uid, ready = /^listening/ } = {}) {
  const flags = ['--import', 'portico/register'];
  const child = spawn(process.execPath, [...flags, join(testsFolder, app), prefix, ...args], {
    cwd: testsFolder, env: { ...host.env, ...env }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'], ...(uid !== undefined && { uid, gid: uid }),
  });
  const lines = [];
  const ended = once(child, 'exit');
  const member = {
    child, pid: child.pid, ended, output: () => lines.join('\n'),
    kill: async (signal = 'SIGKILL') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
  host.members.push(member);
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not listening in time:\n${member.output()}`)), START_LIMIT_MS);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        if (!ready.test(line)) return;
        clearTimeout(timer);
        resolve();
      });
    }
    ended.then(([status, signal]) => {
      clearTimeout(timer);
      reject(new Error(`ended with ${status ?? signal}:\n${member.output()}`));
    });
  });
  return member;
}

function answers(socket) {
  return new Promise((resolve) => {
    const probe = net.connect(socket);
    probe.once('connect', () => resolve(void probe.destroy() ?? true));
    probe.once('error', () => resolve(false));
  });
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  child.kill('SIGTERM');
  await once(child, 'exit');
  clearTimeout(timer);
}
