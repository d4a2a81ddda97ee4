/** Where things are. Only `.build` and the results are written to. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

export const BENCH = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');
export const ROOT = path.dirname(BENCH);
export const BUILD = path.join(BENCH, '.build');
export const RESULTS = path.join(BENCH, 'RESULTS.md');

/** A program that came inside an npm package; its name ends in the platform, which is not ours to know. */
export function packagedBinary(scope, prefix, relative) {
  const folder = path.join(BENCH, 'node_modules', scope);
  if (!existsSync(folder)) return null;
  const found = readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => path.join(folder, name, relative))
    .filter(existsSync);
  return found[0] ?? null;
}
