/** Drives the generators: our own (bench/load), which is told when to run, and wrk, which is not. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { BUILD } from './paths.mjs';
import { GENERATOR_CORE, start, stop } from './process.mjs';
import { requestSet } from './requests.mjs';

const LONGEST_ANSWER_MS = 60_000;

/** The files of a request set, and the arguments that say so. */
function requestArguments(name, port) {
  const { bytes, requestBytes, handshake, answers } = requestSet(name, port);
  const args = ['--request-bytes', String(requestBytes)];
  for (const [kind, content] of Object.entries({ requests: bytes, handshake, answers })) {
    if (!content) continue;
    const file = path.join(BUILD, `${name}-${port}.${kind}`);
    writeFileSync(file, content);
    args.push(`--${kind}`, file);
  }
  return args;
}

/** A generator that has its connections open and waits for orders. */
export class Load {
  #child;
  #lines;
  /** What the generator learned: `answerBytes`, `serverCloses`. */
  ready;

  /** Connects, asks each connection once. @throws Error with what the generator said */
  static async open(cell, port, connections = cell.connections) {
    const load = new Load();
    const args = ['--port', port, '--connections', connections, '--pipeline', cell.pipeline].map(String);
    args.push(...requestArguments(cell.request, port));
    if (cell.close) args.push('--close');
    if (cell.tls) args.push('--tls', cell.tls.mode);
    load.#child = start({ file: path.join(BUILD, 'load'), args }, GENERATOR_CORE, 'pipe');
    load.#child.stdin.on('error', () => {}); // its end shows as the end of its lines
    load.#lines = createInterface({ input: load.#child.stdout })[Symbol.asyncIterator]();
    try {
      load.ready = await load.#answer();
    } catch (error) {
      await load.close();
      throw error;
    }
    return load;
  }

  async #answer() {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(reject, LONGEST_ANSWER_MS, new Error('the generator did not answer in time'));
    });
    try {
      const { value, done } = await Promise.race([this.#lines.next(), late]);
      if (!done) return JSON.parse(value);
      await this.#child.ended;
      throw new Error(this.#child.output.trim() || 'the generator ended');
    } finally {
      clearTimeout(timer);
    }
  }

  /** `go MS`, `rate MS N` or `closed`; see bench/load/main.c. */
  async command(text) {
    this.#child.stdin.write(`${text}\n`);
    return this.#answer();
  }

  async close() {
    this.#child.stdin.end();
    await stop(this.#child);
  }
}

/** One run of wrk, as results of our own generator's form. */
export async function runWrk(cell, port, milliseconds) {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  const args = ['-t1', `-c${cell.connections}`, `-d${seconds}s`, '--latency', `http://127.0.0.1:${port}/`];
  const child = start({ file: 'wrk', args }, GENERATOR_CORE);
  await child.ended;
  const text = child.output;
  await stop(child);
  const [, requests, time, unit] = /(\d+) requests in ([\d.]+)(m?s),/.exec(text) ?? [];
  if (!requests) throw new Error(`wrk said: ${text.trim()}`);
  const errors = [...text.matchAll(/(?:connect|read|write|timeout|responses:) (\d+)/g)];
  return {
    completed: Number(requests),
    errors: errors.reduce((sum, match) => sum + Number(match[1]), 0),
    unfinished: 0,
    elapsedNs: Number(time) * (unit === 's' ? 1e9 : 1e6),
    p50Ns: wrkTime(/50%\s+([\d.]+)(\w+)/.exec(text)),
    p99Ns: wrkTime(/99%\s+([\d.]+)(\w+)/.exec(text)),
  };
}

const wrkTime = (match) => Number(match?.[1]) * { us: 1e3, ms: 1e6, s: 1e9 }[match?.[2] ?? 's'];
