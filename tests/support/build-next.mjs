// Builds the Next.js site once per version of its sources and of Next, into tests/.build.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testsFolder } from './mode.mjs';

const run = promisify(execFile);
const SOURCES = 'real-software/next-site';

/** The Next command-line program, below tests/. */
export const NEXT = 'node_modules/next/dist/bin/next';

/** Builds if needed; returns the built site's folder. Takes up to two minutes the first time. */
export async function buildNext() {
  const folder = join(testsFolder, '.build', `next-${fingerprint()}`);
  if (existsSync(folder)) return folder;
  const work = `${folder}.${process.pid}`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  cpSync(join(testsFolder, SOURCES), work, { recursive: true });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' };
  for (const name of ['NODE_OPTIONS', 'NODE_TEST_CONTEXT', 'PORT']) delete env[name];
  await run(process.execPath, [join(testsFolder, NEXT), 'build', work], { cwd: work, env, timeout: 300_000, maxBuffer: 1 << 26 });
  try {
    renameSync(work, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // another process was faster
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

function fingerprint() {
  const hash = createHash('sha256');
  const version = JSON.parse(readFileSync(join(testsFolder, 'node_modules/next/package.json'), 'utf8')).version;
  hash.update(version);
  const folder = join(testsFolder, SOURCES);
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (statSync(join(folder, name)).isFile()) hash.update(name).update(readFileSync(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 12);
}
