/**
 * Where the add-on and the program of this machine's platform lie.
 *
 * In a source tree `make build` puts the add-on into `packages/portico/native/` and the program into `target/release/`.
 * An installed package has them in an optional package of the platform's own, such as `@portico/linux-x64-gnu`: package
 * managers install the one whose `os`, `cpu` and `libc` fit.
 */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** This package's folder. */
export const PACKAGE = join(__dirname, '..', '..');

/** True in a source tree, where `make build` is there to run. */
export function isSourceTree(): boolean {
  return existsSync(join(PACKAGE, 'src', 'native', 'platform.ts'));
}

/** What to do where something of Portico is missing, as a sentence. */
export function installAdvice(): string {
  return isSourceTree() ? 'Run `make build` in the source tree.'
    : 'Install portico again with optional packages (npm: without --omit=optional), on the machine or in the image that runs it.';
}

/** C libraries, the likelier first. Which of them this machine has need not be found out: what is for the other one does not load. */
const LIBRARIES = ['gnu', 'musl'];

/** Names of the platforms whose files may run here: `linux-x64-gnu`. */
export function platforms(): string[] {
  const name = `${process.platform}-${process.arch}`;
  return process.platform === 'linux' ? LIBRARIES.map((library) => `${name}-${library}`) : [name];
}

/** Platforms that Portico has packages for. */
export const SUPPORTED = ['linux-x64-gnu', 'linux-arm64-gnu', 'linux-x64-musl', 'linux-arm64-musl'];

/** Files that may hold the add-on, the likeliest first; they exist. */
export function addOns(): string[] {
  const built = platforms().map((platform) => join(PACKAGE, 'native', `portico.${platform}.node`)).filter((file) => existsSync(file));
  return [...built, ...installedFolders().map((folder) => join(folder, 'portico.node'))];
}

/** Files that may be the program, the likeliest first; not all of them exist. */
export function builtPrograms(): string[] {
  return [join(PACKAGE, '..', '..', 'target', 'release', 'portico'), ...installedFolders().map((folder) => join(folder, 'portico'))];
}

/** Folders of the platform packages that are installed. */
function installedFolders(): string[] {
  return platforms().flatMap((platform) => {
    try {
      return [dirname(require.resolve(`@portico/${platform}/package.json`))];
    } catch {
      return []; // not installed
    }
  });
}
