// docs/errors.md has each code that the sources give to an error or a warning, and no other; and the errors of a missing host
// say what to do.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageFolder, project, run } from './support/programs.mjs';

const root = join(packageFolder, '../..');

/** The texts of the sources in a folder, without unit tests and comments. */
function sourcesOf(folder, suffix) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(suffix));
  return names.map((name) => readFileSync(join(folder, name), 'utf8').split('#[cfg(test)]')[0].replace(/^\s*(\/\/|\*|\/\*).*$/gm, ''));
}

const sources = [
  ...readdirSync(join(root, 'crates')).flatMap((crate) => sourcesOf(join(root, 'crates', crate, 'src'), '.rs')),
  ...sourcesOf(join(packageFolder, 'src'), '.ts'),
].join('\n');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (.*) \| (.*) \|$/gm)].map(([, code, cause, remedy]) => ({ code, cause, remedy }));

test('each code has a row with its cause and what to do, and each row a code', () => {
  const inSources = new Set([...sources.matchAll(/['"](ERR_PORTICO_[A-Z_]+)['"]|code: '(PORTICO_[A-Z_]+)'/g)].map(([, error, warning]) => error ?? warning));
  assert.ok(inSources.size > 25);
  const own = rows.map(({ code }) => code).filter((code) => code.includes('PORTICO'));
  assert.deepEqual(own.toSorted(), [...inSources].sort());
  for (const { code, cause, remedy } of rows) assert.ok(cause.length > 20 && remedy.length > 10, code);
});

test('no other page has a table of codes', () => {
  for (const name of readdirSync(join(root, 'docs'), { recursive: true }).filter((name) => name.endsWith('.md') && name !== 'errors.md')) {
    assert.doesNotMatch(readFileSync(join(root, 'docs', name), 'utf8'), /^\| `ERR_PORTICO_/m, name);
  }
});

const LISTENING = 'require("http").createServer().listen("http://*:48123/").on("error", ({ code, message }) => console.log(code, message))';

/** What listening on a prefix says in this environment; the user's own place for a host is in `folder`. */
async function sayingOf(t, env) {
  const folder = project(t, { 'listen.cjs': LISTENING });
  const { stdout } = await run(folder, ['--require', 'portico/register', 'listen.cjs'], { XDG_RUNTIME_DIR: folder, ...env(folder) });
  return { folder, said: stdout };
}

test('where PORTICO_HOST names a place without a host, the error says how to start one', async (t) => {
  const { folder, said } = await sayingOf(t, (own) => ({ PORTICO_HOST: join(own, 'host.sock') }));
  const socket = join(folder, 'host.sock');
  assert.match(said, /^ERR_PORTICO_NO_HOST Listening on http:\/\/\*:48123\/ failed: no host listens on /);
  assert.ok(said.includes(`run \`portico host --socket ${socket}\`, or unset PORTICO_HOST`), said);
});

test('a host that ends at once is named, with its exit code and how to see why', async (t) => {
  const { said } = await sayingOf(t, () => ({ PORTICO_PROGRAM: '/bin/false' }));
  assert.match(said, /^ERR_PORTICO_NO_HOST The host \/bin\/false ended at once \(exit code 1\): .*Run `portico host --socket \/.*host\.sock` to see why\.$/m);
});
