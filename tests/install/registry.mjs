// A registry on loopback that has Portico's packages as they would be published, and nothing else.

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startNode } from '../support/child.mjs';
import { freePort } from '../support/free-port.mjs';

const run = promisify(execFile);
const testsFolder = join(import.meta.dirname, '..');
const PACKAGING = join(testsFolder, '../packaging/npm/package.mjs');
const VERDACCIO = join(testsFolder, 'node_modules/verdaccio/bin/verdaccio');
/** Package managers run on it, whichever Node the packages are tested on. */
export const managersNode = join(testsFolder, 'node_modules/node-24/bin/node');

/** Packs what `make build` has built, publishes it, and gives `{ url, tarballs, end() }`; `url` ends in a slash. */
export async function startRegistry() {
  const folder = mkdtempSync(join(tmpdir(), 'portico-registry-'));
  const tarballs = join(folder, 'tarballs');
  await run(process.execPath, [PACKAGING, '--out', tarballs, '--this-machine'], { timeout: 120_000 });
  const url = `http://127.0.0.1:${await freePort()}/`;
  const configuration = join(folder, 'verdaccio.yaml');
  writeFileSync(configuration, [
    `storage: ${join(folder, 'storage')}`,
    `auth: { htpasswd: { file: ${join(folder, 'htpasswd')} } }`,
    "packages: { '**': { access: $all, publish: $all, unpublish: $all } }",
    'log: { type: stdout, format: pretty, level: warn }',
    'max_body_size: 50mb',
  ].join('\n'));
  const server = await startNode([VERDACCIO, '--config', configuration, '--listen', url], { ready: /http address/, node: managersNode });
  const files = readdirSync(tarballs).map((name) => join(tarballs, name));
  // The platform's first, as a release does it: nobody gets a package whose parts are not there yet.
  for (const file of files.toSorted((a, b) => Number(b.includes('linux')) - Number(a.includes('linux')))) await publish(file, url, folder);
  return {
    url,
    tarballs: files,
    end: async () => {
      await server.kill('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function publish(file, url, folder) {
  const settings = join(folder, 'npmrc');
  writeFileSync(settings, `registry=${url}\n//${new URL(url).host}/:_authToken=nobody\n`);
  await run('npm', ['publish', file, '--userconfig', settings, '--access', 'public', '--loglevel', 'error'], { cwd: folder, timeout: 60_000 });
}
