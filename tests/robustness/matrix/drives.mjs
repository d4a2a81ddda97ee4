// The servers that a row is sent to: node:http itself, and Portico's drives, each a process of its own.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { startHost } from '../../support/start-host.mjs';
import { environment, preload, testsFolder } from '../../support/mode.mjs';

/** Portico's drives. `stock` is node:http, which they are compared with. */
export const DRIVES = ['inline', 'threaded', 'hosted'];

const SERVER = join(import.meta.dirname, 'server.cjs');

/** The program of a Node version by the name that tests/run.mjs gives it. */
export function nodeProgram(name) {
  const program = name === 'this' ? process.execPath : join(testsFolder, `node_modules/node-${name}/bin/node`);
  if (!existsSync(program)) throw new Error(`no Node ${name}: run npm install --no-save --ignore-scripts in tests/`);
  return program;
}

/** Starts the servers of `drive` on `program`, a Node. They end with `stop()`. */
export function startDrive(drive, program) {
  const flags = ['--expose-gc'];
  if (drive === 'hosted') return startHosted(program, flags);
  const env = environment('', { PORTICO_THREADS: drive === 'threaded' ? '1' : '0' });
  delete env.PORTICO_COUNTERS_FILE;
  const loader = drive === 'stock' ? [] : preload;
  return startEmbedded(drive, program, [...flags, ...loader], env);
}

async function startEmbedded(drive, program, flags, env) {
  const child = await startServer(program, flags, env, { patient: 0, hasty: 0, expectant: 0, upgrading: 0 });
  return new Drive(drive, [child], child.ports, () => undefined);
}

async function startHosted(program, flags) {
  const cleanups = [];
  const test = { after: (cleanup) => cleanups.unshift(cleanup) };
  const cleanUp = async () => {
    for (const cleanup of cleanups) await cleanup();
  };
  try {
    return await startHostsAndMembers(program, flags, { test, cleanUp });
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

async function startHostsAndMembers(program, flags, { test, cleanUp }) {
  const patientHost = await startHost(test, { configuration: limits('60s') });
  const hastyHost = await startHost(test, { configuration: limits('400ms') });
  const listens = (host, ...names) => Object.fromEntries(names.map((name) => [name, `http://*:${host.port}/${name}/`]));
  const startMember = async (host, ...names) => {
    const child = await startServer(program, [...flags, ...preload], host.env, listens(host, ...names));
    test.after(() => child.kill('SIGKILL'));
    return child;
  };
  const members = [await startMember(patientHost, 'patient', 'expectant', 'upgrading'), await startMember(hastyHost, 'hasty')];
  const ports = { patient: patientHost.port, expectant: patientHost.port, upgrading: patientHost.port, hasty: hastyHost.port };
  return new Drive('hosted', members, ports, cleanUp, [patientHost.child, hastyHost.child]);
}

const limits = (keepAlive) => `[limits]\nkeep_alive_timeout = "${keepAlive}"\nheaders_timeout = "61s"\n`;

async function startServer(program, flags, env, listens) {
  const child = fork(SERVER, [JSON.stringify(listens)], { execPath: program, execArgv: flags, env, cwd: testsFolder, silent: true });
  child.words = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (child.words += part));
  const ready = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (ready[0]?.ports === undefined) throw new Error(`the server ended with ${ready[0] ?? ready[1]}:\n${child.words}`);
  child.ports = ready[0].ports;
  return child;
}

/** A drive's running processes. */
class Drive {
  #children;
  #cleanUp;
  #asked = 0;
  #waiting = new Map();

  constructor(name, children, ports, cleanUp, hosts = []) {
    this.name = name;
    this.ports = ports;
    this.#children = children;
    this.#cleanUp = cleanUp;
    /** Every process that serves, for what is said of memory. */
    this.processes = [...children, ...hosts];
    for (const child of children) this.#hear(child);
  }

  /** Where the server named `patient`, `hasty`, `expectant` or `upgrading` is. */
  endpoint(name) {
    return { port: this.ports[name], folder: `/${name}/` };
  }

  /** The events of rows that have ended, and exceptions that no row has thrown. */
  async events(rows) {
    const reports = await Promise.all(this.#children.map((child) => this.#ask(child, 'events', rows)));
    const events = {};
    for (const report of reports) {
      for (const [row, notes] of Object.entries(report.events)) events[row] ??= notes;
    }
    return { events, strays: reports.flatMap(({ strays }) => strays) };
  }

  /** Resolves when every process has had a turn of its event loop. */
  async ping() {
    await Promise.all(this.#children.map((child) => this.#ask(child, 'ping')));
  }

  /** Resolves when every process has collected its garbage; they run with --expose-gc. */
  async collect() {
    await Promise.all(this.#children.map((child) => this.#ask(child, 'collect')));
  }

  /** What is wrong with the processes, or undefined: one has ended. */
  get failure() {
    const gone = this.processes.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
    return gone && `a process of the drive ${this.name} ended with ${gone.exitCode ?? gone.signalCode}:\n${gone.words ?? ''}`;
  }

  async stop() {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await this.#cleanUp();
  }

  #hear(child) {
    child.on('message', (message) => {
      this.#waiting.get(message.id)?.resolve(message);
      this.#waiting.delete(message.id);
    });
    child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error(this.failure));
    });
  }

  #ask(child, ask, rows) {
    if (!child.connected) return Promise.reject(new Error(this.failure));
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      child.send({ id, ask, rows });
    });
  }
}
