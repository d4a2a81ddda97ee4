// What the engines of a program's processes did, as they reported at exit.

import { existsSync, readFileSync } from 'node:fs';

/** Sums the lines of a counters file; all zero if no process wrote one. */
export function readCounters(file) {
  const sum = { processes: 0, connections: 0, requests: 0 };
  if (!existsSync(file)) return sum;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue;
    const { connections, requests } = JSON.parse(line);
    sum.processes += 1;
    sum.connections += connections;
    sum.requests += requests;
  }
  return sum;
}
