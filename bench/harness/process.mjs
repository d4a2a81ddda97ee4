/**
 * Processes of the benchmark: started on a core, read for their CPU time and memory, and all killed at the end,
 * however it comes.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export const SERVER_CORE = 0;
export const GENERATOR_CORE = 1;
const START_TIMEOUT_MS = 15_000;
const ASK_MS = 500;
const OUTPUT_KEPT = 4000;
const MESSAGE_KEPT = 120;

const running = new Set();

/**
 * Starts a command on a core, in a process group of its own that dies with this process.
 * @param {{ file: string, args: string[], env?: object, cwd?: string }} command
 */
export function start(command, core, stdio = ['ignore', 'pipe', 'pipe']) {
  const pinned = ['--pdeathsig', 'KILL', 'taskset', '-c', String(core), command.file, ...command.args];
  const child = spawn('setpriv', pinned, {
    stdio, detached: true, cwd: command.cwd, env: { ...process.env, ...command.env },
  });
  child.output = '';
  for (const stream of [child.stderr, stdio === 'pipe' ? null : child.stdout]) {
    stream?.on('data', (text) => (child.output = (child.output + text).slice(-OUTPUT_KEPT)));
  }
  child.ended = new Promise((resolve) => {
    child.on('error', (error) => resolve(void (child.output += error.message)));
    child.on('exit', (code, signal) => resolve(void (child.output ||= `exit ${code ?? signal}`)));
  });
  child.ended.then(() => (child.gone = true));
  running.add(child);
  return child;
}

/** Ends a process and the group it leads, and waits for it. Asks first, so that nginx sees to its worker. */
export async function stop(child) {
  if (!child.gone) {
    signalGroup(child, 'SIGTERM');
    await Promise.race([child.ended, sleep(ASK_MS, undefined, { ref: false })]);
  }
  signalGroup(child, 'SIGKILL');
  await child.ended;
  running.delete(child);
}

function signalGroup(child, signal) {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Must be called once. After it nothing that was started outlives this process. */
export function killEverythingAtExit() {
  process.on('exit', () => running.forEach((child) => signalGroup(child, 'SIGKILL')));
  for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]]) {
    process.on(signal, () => process.exit(code));
  }
}

/** A port of which nothing listens; below the range that the system gives to clients. */
export async function freePort() {
  for (;;) {
    nextPort = nextPort >= 29_999 ? 21_000 : nextPort + 1;
    if (await canListen(nextPort)) return nextPort;
  }
}

let nextPort = 21_000 + (process.pid % 80) * 100;

function canListen(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Waits until something accepts connections. @throws Error with the process's last output when it ends before. */
export async function untilListening(child, port) {
  const limit = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < limit) {
    if (child.gone) throw new Error(`ended at once: ${lastLines(child.output)}`);
    if (await accepts(port)) return;
    await sleep(20);
  }
  throw new Error(`did not listen within ${START_TIMEOUT_MS} ms: ${lastLines(child.output)}`);
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(void socket.destroy() ?? true));
    socket.once('error', () => resolve(false));
  });
}

/** The lines of an output that say what went wrong: an error's message if there is one, else the end. */
function lastLines(output) {
  const lines = output.trim().split('\n');
  const message = lines.find((line) => /^\S*error\b/i.test(line)) ?? lines.at(-1) ?? '';
  return message.length > MESSAGE_KEPT ? `${message.slice(0, MESSAGE_KEPT)}...` : message;
}

/** A process and all that descend from it. */
export function processTree(pid) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').pop().split(' ');
      parents.set(Number(name), Number(fields[1]));
    } catch {
      // it ended meanwhile
    }
  }
  const tree = [pid];
  for (const known of tree) for (const [child, parent] of parents) if (parent === known) tree.push(child);
  return tree;
}

/** CPU time of all threads of processes, nanoseconds. Exact while they sleep. */
export function cpuNs(pids) {
  let total = 0;
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
    }
  }
  return total;
}

/** Threads of a process. */
export const threadCount = (pid) => readdirSync(`/proc/${pid}/task`).length;

/** Proportional set size of processes, bytes, without mapped files: what they share of a binary is not theirs. */
export function memoryBytes(pids) {
  let total = 0;
  for (const pid of pids) {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    for (const [, kilobytes] of text.matchAll(/^Pss_(?:Anon|Shmem):\s+(\d+) kB/gm)) total += Number(kilobytes) * 1024;
  }
  return total;
}

/** Whether a process has a file mapped whose path matches. */
export function hasMapped(pid, pattern) {
  return existsSync(`/proc/${pid}/maps`) && pattern.test(readFileSync(`/proc/${pid}/maps`, 'latin1'));
}
