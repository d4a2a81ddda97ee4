// What the kernel says of a running process (proc(5)).

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

/** Resident memory in bytes. */
export const residentBytes = (pid) => statusBytes(pid, 'VmRSS');

/** The most there was of it, since the start or the last `resetPeak`. */
export const peakBytes = (pid) => statusBytes(pid, 'VmHWM');

/** Makes the kernel forget the peak. */
export function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** How many descriptors are open. */
export const openDescriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** Bounds the number of descriptors; those that are open already count. */
export function limitDescriptors(pid, count) {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${count}:${count}`]);
}

/** How many sockets are open. */
export function openSockets(pid) {
  return readdirSync(`/proc/${pid}/fd`).filter((name) => linkOf(`/proc/${pid}/fd/${name}`).startsWith('socket:')).length;
}

function statusBytes(pid, field) {
  return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

function linkOf(path) {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed in the meantime
  }
}
