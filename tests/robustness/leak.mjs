// Resident memory must stay level over many requests. `node tests/robustness/leak.mjs [REQUESTS]`,
// a million by default; wrk sends them. Prints the level slice by slice; exit status 1 if it rises.
// `checkLevel` is used by the test suite with fewer requests.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { residentBytes } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

const run = promisify(execFile);
const MB = 1 << 20;
const SLICES = 10;
const ALLOWED_MB = 12; // between the mean of slices 4 to 6 and of the last three: heap sizes breathe

/** How wrk connects: kept alive, or closed after each answer (fewer requests: each costs more). */
const CELLS = [
  { name: 'keep-alive', shape: 'hello', share: 0.7, headers: [] },
  { name: 'everything touched', shape: 'busy', share: 0.2, headers: [] },
  { name: 'close', shape: 'hello', share: 0.1, headers: ['-H', 'Connection: close'] },
];

/** Sends `requests` in all; resolves with `[{ name, requests, levels, grownMb }]`. `t` is a test context or a stand-in. */
export async function checkLevel(t, requests, say = () => {}) {
  const results = [];
  for (const { name, shape, share, headers } of CELLS) {
    const app = await startApp(t, 'robustness/apps/hello.cjs', { env: { SHAPE: shape } });
    const wanted = Math.ceil((requests * share) / SLICES);
    const levels = [];
    let total = 0;
    for (let slice = 0; slice < SLICES; slice += 1) {
      let sent = 0;
      while (sent < wanted) sent += await load(app.url, headers);
      total += sent;
      levels.push(Math.round(((await residentBytes(app.pid)) / MB) * 10) / 10);
    }
    const grownMb = mean(levels.slice(-3)) - mean(levels.slice(3, 6));
    say(`${name}: ${total} requests, resident MB ${levels.join(' ')}, grown ${grownMb.toFixed(1)}`);
    results.push({ name, requests: total, levels, grownMb });
    await app.stop();
  }
  return results;
}

/** True if no cell's memory rose. */
export function isLevel(results) {
  return results.every(({ grownMb }) => grownMb < ALLOWED_MB);
}

async function load(url, headers) {
  const { stdout } = await run('wrk', ['-t1', '-c50', '-d1s', ...headers, url]);
  const errors = /Non-2xx or 3xx responses: (\d+)/.exec(stdout);
  if (errors) throw new Error(`${errors[1]} answers were not 2xx`);
  return Number(/(\d+) requests in/.exec(stdout)[1]);
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

if (process.argv[1] === import.meta.filename) {
  const requests = Number(process.argv[2] ?? 1_000_000);
  const results = await checkLevel({ after: () => {} }, requests, console.log);
  const level = isLevel(results);
  console.log(level ? 'level' : 'NOT level');
  process.exitCode = level ? 0 : 1;
}
