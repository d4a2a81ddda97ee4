// Where the load goes: node:http, the drives, and a host whose processes are killed and replaced meanwhile.

import { join } from 'node:path';
import { startNode } from '../../support/child.mjs';
import { environment, preload, testsFolder } from '../../support/mode.mjs';
import { startHost } from '../../support/start-host.mjs';
import { startMatching } from './load.mjs';

const APP = join(import.meta.dirname, 'app.cjs');
const KILL_EVERY_MS = 1_100;
const REPLACE_EVERY_MS = 1_700;
const MEMBERS = 3;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The scenes by name; each runs for `ms` and resolves with the ledger. */
export const SCENES = {
  stock: (options) => embedded(options, [], { PORTICO_THREADS: '0' }),
  inline: (options) => embedded(options, preload, { PORTICO_THREADS: '0' }),
  threaded: (options) => embedded(options, preload, { PORTICO_THREADS: '2' }),
  hosted,
};

async function embedded({ ms, seed }, flags, extra) {
  const env = environment('', extra);
  delete env.PORTICO_COUNTERS_FILE;
  const server = await startApp(flags, '0', env);
  try {
    const load = startMatching({ port: server.port, folder: '/' }, { seed });
    await pause(ms);
    const ledger = await load.stop();
    if (server.child.exitCode !== null) ledger.wrong(undefined, `the server ended:\n${server.output()}`);
    return ledger;
  } finally {
    await server.kill('SIGKILL');
  }
}

async function hosted({ ms, seed }) {
  const cleanups = [];
  const host = await startHost({ after: (cleanup) => cleanups.unshift(cleanup) }, { configuration: '[limits]\nkeep_alive_timeout = "60s"\n' });
  const start = () => startApp(preload, `http://*:${host.port}/app/`, host.env);
  const members = await Promise.all(Array.from({ length: MEMBERS }, start));
  const leaving = new Set();
  const explain = () => host.cli('status', '--requests').then(({ stdout }) => stdout, (error) => error.message);
  try {
    const load = startMatching({ port: host.port, folder: '/app/' }, { seed, explain });
    const turnover = [
      every(KILL_EVERY_MS, ms, async () => {
        const victim = members.shift();
        load.ledger.death(victim.child.pid);
        await victim.kill('SIGKILL');
        members.push(await start());
      }),
      every(REPLACE_EVERY_MS, ms, async () => {
        members.push(await start());
        const member = members.shift();
        leaving.add(member);
        member.kill('SIGTERM').then(() => leaving.delete(member));
      }),
    ];
    await Promise.all([pause(ms), ...turnover]);
    const ledger = await load.stop();
    for (const { child, output } of members) {
      if (child.exitCode !== null) ledger.wrong(undefined, `a process ended:\n${output()}`);
    }
    return ledger;
  } finally {
    await Promise.all([...members, ...leaving].map((member) => member.kill('SIGKILL')));
    for (const cleanup of cleanups) await cleanup();
  }
}

async function every(periodMs, ms, action) {
  const end = Date.now() + ms;
  for (;;) {
    await pause(periodMs);
    if (Date.now() >= end) return;
    await action();
  }
}

async function startApp(flags, where, env) {
  const app = await startNode([...flags, APP, where], { ready: /^listening (\d+)/, cwd: testsFolder, env });
  return { ...app, port: Number(app.match[1]) };
}
