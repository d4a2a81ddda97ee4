// Resident memory must stay level over many requests. `make soak`, or `node tests/robustness/leak.mjs [REQUESTS]`:
// so many in each cell, a million by default; wrk sends them. Prints the level slice by slice; exit status 1 if it
// rises. `checkLevel` is used by the test suite with fewer requests.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { request } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

const run = promisify(execFile);
const MB = 1 << 20;
const SLICES = 10;
// Between the mean of slices 4 to 6 and of the last three. JavaScript's heap is measured after a
// collection and is steady; resident memory is the allocators' too, and breathes on plain Node as well.
const ALLOWED_MB = { rss: 20, heapUsed: 2, external: 2 };

/** How wrk connects: kept alive, or closed after each answer (fewer requests: each costs more). */
const CELLS = [
  { name: 'keep-alive', shape: 'hello', share: 0.7, headers: [] },
  { name: 'everything touched', shape: 'busy', share: 0.2, headers: [] },
  { name: 'close', shape: 'hello', share: 0.1, headers: ['-H', 'Connection: close'] },
];

/** Sends `requests` in all, or that many in `each` cell; resolves with `[{ name, requests, grownMb }]`. `t` is a test context or a stand-in. */
export async function checkLevel(t, requests, say = () => {}, each = false) {
  const results = [];
  for (const { name, shape, share, headers } of CELLS) {
    const app = await startApp(t, 'robustness/apps/hello.cjs', { env: { SHAPE: shape }, flags: ['--expose-gc'] });
    const wanted = Math.ceil((requests * (each ? 1 : share)) / SLICES);
    const levels = [];
    let total = 0;
    for (let slice = 0; slice < SLICES; slice += 1) {
      let sent = 0;
      while (sent < wanted) sent += await load(app.url, headers);
      total += sent;
      await request(`${app.url}/collect`);
      levels.push(JSON.parse((await request(`${app.url}/collect`)).body));
    }
    const grownMb = Object.fromEntries(Object.keys(ALLOWED_MB).map((kind) => [kind, growth(levels, kind)]));
    const resident = levels.map(({ rss }) => (rss / MB).toFixed(1)).join(' ');
    say(`${name}: ${total} requests, resident MB ${resident}, grown MB ${JSON.stringify(grownMb)}`);
    results.push({ name, requests: total, grownMb });
    await app.stop();
  }
  return results;
}

/** True if no cell's memory rose. */
export function isLevel(results) {
  return results.every(({ grownMb }) => Object.entries(ALLOWED_MB).every(([kind, limit]) => grownMb[kind] < limit));
}

async function load(url, headers) {
  const { stdout } = await run('wrk', ['-t1', '-c50', '-d1s', ...headers, url]);
  const errors = /Non-2xx or 3xx responses: (\d+)/.exec(stdout);
  if (errors) throw new Error(`${errors[1]} answers were not 2xx`);
  return Number(/(\d+) requests in/.exec(stdout)[1]);
}

function growth(levels, kind) {
  const numbers = levels.map((level) => level[kind] / MB);
  return Number((mean(numbers.slice(-3)) - mean(numbers.slice(3, 6))).toFixed(2));
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

if (process.argv[1] === import.meta.filename) {
  const requests = Number(process.argv[2] ?? 1_000_000);
  const results = await checkLevel({ after: () => {} }, requests, console.log, true);
  const level = isLevel(results);
  console.log(level ? 'level' : 'NOT level');
  process.exitCode = level ? 0 : 1;
}
