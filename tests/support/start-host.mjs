// Starts a host of its own for a test, with a control socket in a folder of its own, and processes that register there.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endChild, hear, startNode } from './child.mjs';
import { eventually } from './clients.mjs';
import { freePort } from './free-port.mjs';
import { testsFolder } from './mode.mjs';

const run = promisify(execFile);
const START_LIMIT_MS = 60_000;

/** The program, as `make build` leaves it. */
export const portico = process.env.PORTICO_PROGRAM ?? join(testsFolder, '../target/release/portico');

/**
 * Starts a host and resolves once it takes registrations, with `{ port, url, socket, folder, child, cli, member,
 * status, processes, hasTaken, output, stop }`. `port` is one that is free; `configuration` is the text of a portico.toml.
 * `hasTaken(member, requests)` resolves when a process has been given so many requests, and has taken what it was given.
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
  const lines = hear(child);
  const host = {
    port, url: `http://127.0.0.1:${port}`, socket, folder, file, child, env: own, members: [],
    output: () => lines.join('\n'),
    cli: (...words) => run(portico, [...words, '--socket', socket], { env: own }),
    status: async () => JSON.parse((await host.cli('status', '--json')).stdout),
    member: (app, prefix, options) => startMember(host, app, prefix, options),
    processes: async () => (await host.status()).prefixes.flatMap(({ processes }) => processes),
    hasTaken: (member, requests) => eventually(async () => {
      const found = (await host.processes()).find(({ pid }) => pid === member.pid);
      return found?.requests >= requests && found.untaken === 0;
    }, `the process has taken ${requests} requests`, START_LIMIT_MS),
  };
  t.after(async () => {
    for (const member of host.members) await member.kill();
    await endChild(child);
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
  return startNode(['--import', 'portico/register', join(testsFolder, app), prefix, ...args], {
    ready, started: (member) => host.members.push(member), cwd: testsFolder, env: { ...host.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'], ...(uid !== undefined && { uid, gid: uid }),
  });
}

function answers(socket) {
  return new Promise((resolve) => {
    const probe = net.connect(socket);
    probe.once('connect', () => resolve(void probe.destroy() ?? true));
    probe.once('error', () => resolve(false));
  });
}
