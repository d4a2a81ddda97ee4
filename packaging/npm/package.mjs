// Makes the tarballs that npm installs: `portico`, and a package for each platform with its add-on and its program.
//
// node packaging/npm/package.mjs [--out DIR] PLATFORM...     (from target/packages/PLATFORM, which build.sh fills)
// node packaging/npm/package.mjs [--out DIR] --this-machine   (from what `make build` has built; for tests. The packages of
//                                                            other platforms are there, without their files)

import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle, entriesOf } from './bundle.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCE = join(ROOT, 'packages/portico');
/** Bytes that the tarball of a platform may have: an installation fetches one of them. */
const LARGEST = 8 << 20;
const PLATFORMS = ['linux-x64-gnu', 'linux-arm64-gnu', 'linux-x64-musl', 'linux-arm64-musl'];
/** What `bin/portico.js` loads. */
const USED_BY_BIN = 'native/platform';
const LIBRARIES = { gnu: 'glibc', musl: 'musl' };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: join(ROOT, 'dist') }, 'this-machine': { type: 'boolean', default: false } },
});
const own = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'));
const staging = join(ROOT, 'target/packages/staging');

rmSync(staging, { recursive: true, force: true });
mkdirSync(values.out, { recursive: true });
const wanted = values['this-machine'] ? PLATFORMS : positionals;
const unknown = wanted.find((platform) => !PLATFORMS.includes(platform));
if (unknown !== undefined || wanted.length === 0) fail(`Name platforms of ${PLATFORMS.join(', ')}${unknown ? `; ${unknown} is none` : ''}.`);
for (const platform of wanted) packPlatform(platform);
await packMain();

/** The package of a platform: two files and who may use them. */
function packPlatform(platform) {
  const [os, cpu, library] = platform.split('-');
  const folder = join(staging, platform);
  mkdirSync(folder, { recursive: true });
  if (!values['this-machine']) copyBuilt(platform, folder);
  else if (platform === machinesPlatform()) copyFromHere(folder);
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'README.md'),
    `# @portico/${platform}\n\nThe add-on and the program of [portico](https://www.npmjs.com/package/portico) for ${platform}. Install \`portico\`: it brings this package where it fits.\n`);
  writeJson(join(folder, 'package.json'), {
    name: `@portico/${platform}`,
    version: own.version,
    description: `Portico's add-on and program for ${platform}`,
    license: own.license,
    engines: own.engines,
    os: [os],
    cpu: [cpu],
    libc: [LIBRARIES[library]],
    preferUnplugged: true, // Yarn: a program can't be started inside an archive
    files: ['portico.node', 'portico'],
    exports: { './package.json': './package.json', './portico.node': './portico.node' },
  });
  const bytes = pack(folder);
  if (bytes > LARGEST) fail(`@portico/${platform} has ${bytes} bytes packed; ${LARGEST} are allowed.`);
}

/** `portico` itself: JavaScript, types, the command, and the platforms' packages as optional dependencies of its version. */
async function packMain() {
  const folder = join(staging, 'portico');
  mkdirSync(folder, { recursive: true });
  await bundle(join(SOURCE, 'dist'), join(folder, 'dist'), [...entriesOf(own), USED_BY_BIN]);
  for (const name of ['types', 'bin']) cpSync(join(SOURCE, name), join(folder, name), { recursive: true });
  for (const name of ['README.md', 'LICENSE']) copyFileSync(join(ROOT, name), join(folder, name));
  writeJson(join(folder, 'package.json'), {
    ...own,
    files: ['dist', 'types', 'bin'],
    optionalDependencies: Object.fromEntries(PLATFORMS.map((platform) => [`@portico/${platform}`, own.version])),
  });
  pack(folder);
}

/** Packs a folder into the output folder; the tarball's size in bytes. */
function pack(folder) {
  const answer = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', values.out], { cwd: folder, encoding: 'utf8' });
  const parsed = JSON.parse(answer);
  const [packed] = Array.isArray(parsed) ? parsed : Object.values(parsed);
  const file = join(values.out, packed.filename);
  const { size } = statSync(file);
  console.log(`${file}  ${(size / 1e6).toFixed(2)} MB, ${packed.entryCount} files`);
  return size;
}

/** What build.sh has built for a platform. */
function copyBuilt(platform, folder) {
  for (const name of ['portico.node', 'portico']) copy(join(ROOT, 'target/packages', platform, name), join(folder, name), `packaging/npm/build.sh ${platform}`);
}

/** What `make build` has built on this machine. */
function copyFromHere(folder) {
  copy(join(SOURCE, 'native', `portico.${machinesPlatform()}.node`), join(folder, 'portico.node'), 'make build');
  copy(join(ROOT, 'target/release/portico'), join(folder, 'portico'), 'make build');
  execFileSync('strip', ['portico.node', 'portico'], { cwd: folder });
}

function copy(from, to, builder) {
  if (!existsSync(from)) fail(`${from} does not exist: run \`${builder}\` first.`);
  copyFileSync(from, to);
}

function machinesPlatform() {
  return `${process.platform}-${process.arch}-gnu`;
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

function fail(message) {
  console.error(`package: ${message}`);
  process.exit(1);
}
