/** What the figures were measured on, and when. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { ROOT } from './paths.mjs';

/** Load average of the last minute: the rest of the machine's, when read before the run. */
export const loadAverage = () => os.loadavg()[0];

export function describeMachine(startedMs, options) {
  const distribution = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  return {
    date: new Date(startedMs).toISOString().slice(0, 16).replace('T', ' '),
    minutes: Math.round((Date.now() - startedMs) / 60_000),
    processor: `${os.cpus()[0]?.model.trim()} (${os.cpus().length} cores seen)`,
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    kernel: os.release(),
    distribution,
    congestionControl: readOr('/proc/sys/net/ipv4/tcp_congestion_control', 'unknown'),
    commit: commit(),
    rounds: options.rounds,
    sliceMs: options.sliceMs,
  };
}

function commit() {
  try {
    const settings = { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    const git = (...args) => execFileSync('git', args, settings);
    const changed = git('status', '--porcelain', '--untracked-files=no', 'crates', 'packages').trim() !== '';
    return git('rev-parse', '--short', 'HEAD').trim() + (changed ? ', with changes' : '');
  } catch {
    return 'unknown';
  }
}

function readOr(file, fallback) {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return fallback;
  }
}
