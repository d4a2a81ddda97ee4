// The package's JavaScript as few files: Node reads, resolves and compiles some 110 small ones in about 70 ms at each start
// of a program, and these in a fraction of that.

import { cpSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/** Where the parts lie that entries share: as deep as the modules that look for files by their own place. */
const SHARED = 'shared/[name].js';

/**
 * Bundles the modules of `from` (what tsc wrote) into `to`: a file for each entry, and what they share below `shared/`, so
 * that state is one whichever entries a program loads. Names and lines stay readable; declarations are copied.
 */
export async function bundle(from, to, entries) {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(from, `${entry}.js`)])),
    platform: 'node',
    external: /\/package\.json$/, // says the version, in one place
    onLog(level, log) {
      if (level === 'warn') throw new Error(`rolldown: ${log.message}`);
    },
  });
  await build.write({ dir: to, format: 'cjs', entryFileNames: '[name].js', chunkFileNames: SHARED });
  await build.close();
  cpSync(from, to, { recursive: true, filter: (file) => statSync(file).isDirectory() || file.endsWith('.d.ts') });
}

/** The modules that `exports` of a package.json names, without folder and extension. */
export function entriesOf({ exports }) {
  return Object.values(exports)
    .map((target) => /^\.\/dist\/(.*)\.js$/.exec(target.default ?? '')?.[1])
    .filter((entry) => entry !== undefined);
}
