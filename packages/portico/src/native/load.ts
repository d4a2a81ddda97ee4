/**
 * Finds and loads the add-on, and says in words why it can't be had.
 *
 * Files lie in `packages/portico/native/`, one for each platform: `portico.linux-x64-gnu.node`. `PORTICO_NATIVE` names
 * another file.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Binding } from './binding';

/** Why the add-on can't be used. */
export class AddOnError extends Error {
  /** Stable: programs may compare it. */
  readonly code = 'ERR_PORTICO_ADD_ON';
  /** What the reader can do about it, as a sentence. */
  readonly advice: string;

  constructor(reason: string, advice: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'Error';
    this.advice = advice;
  }
}

/** Version 8 is what the add-on is built for; Node 20 and later have it. */
const NODE_API = 8;

let loaded: Binding | undefined;
let failure: AddOnError | undefined;

/**
 * The add-on, loaded at the first call.
 *
 * @throws AddOnError the same one each time
 */
export function loadBinding(): Binding {
  if (loaded !== undefined) return loaded;
  if (failure !== undefined) throw failure;
  try {
    loaded = load();
    return loaded;
  } catch (error) {
    failure = error instanceof AddOnError ? error : new AddOnError(messageOf(error), 'This is a bug in Portico.', error);
    throw failure;
  }
}

/** Gives the lane another add-on; for tests. */
export function setBinding(binding: Binding): void {
  loaded = binding;
  failure = undefined;
}

function load(): Binding {
  requireRuntime();
  const files = candidates();
  const present = files.filter((file) => existsSync(file));
  if (present.length === 0) {
    throw new AddOnError(`there is no add-on for this platform (${platformName()}): ${files[0]} does not exist`,
      'Run `make build` in the source tree, or install the package on a supported platform.');
  }
  let last: unknown;
  for (const file of present) {
    let binding;
    try {
      // eslint-disable-next-line @typescript-eslint/no-require-imports
      binding = require(file) as Binding;
    } catch (error) {
      last = error;
      continue;
    }
    return requireVersion(binding, file);
  }
  throw new AddOnError(`the add-on could not be loaded (${messageOf(last)})`, adviceOn(last), last);
}

/** Another version's records would be read wrongly: both sides have the layout compiled in. */
function requireVersion(binding: Binding, file: string): Binding {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const wanted = (require('../../package.json') as { version: string }).version;
  const found = typeof binding.version === 'function' ? binding.version() : undefined;
  if (found === wanted) return binding;
  throw new AddOnError(`${file} is ${found === undefined ? 'no add-on of Portico' : `version ${found}, the package ${wanted}`}`,
    'Install the package again, or run `make build` in the source tree.');
}

function requireRuntime(): void {
  const { versions } = process;
  if (versions['bun'] !== undefined || versions['deno'] !== undefined) {
    throw new AddOnError('this is not Node.js', 'Run the program with Node.js 20 or later.');
  }
  if (Number(versions.node.split('.')[0]) < 20) {
    throw new AddOnError(`Node.js ${versions.node} is too old`, 'Use Node.js 20 or later.');
  }
  if (!(Number(versions['napi']) >= NODE_API)) {
    throw new AddOnError(`this Node.js has no Node-API ${NODE_API}`, 'Use an official build of Node.js 20 or later.');
  }
}

/** Files that may hold the add-on of this platform, the likeliest first. */
function candidates(): string[] {
  const chosen = process.env['PORTICO_NATIVE'];
  if (chosen) return [chosen];
  const folder = join(__dirname, '..', '..', 'native');
  const name = `portico.${process.platform}-${process.arch}`;
  if (process.platform !== 'linux') return [join(folder, `${name}.node`)];
  // Which C library this is need not be found out: the file for the other one does not load.
  return [join(folder, `${name}-gnu.node`), join(folder, `${name}-musl.node`)];
}

function platformName(): string {
  return `${process.platform} on ${process.arch}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.split('\n')[0] : String(error);
}

function adviceOn(error: unknown): string {
  const code = (error as { code?: string } | undefined)?.code;
  if (code === 'ERR_DLOPEN_DISABLED') return 'Leave out --no-addons, or allow it with --allow-addons.';
  return 'Run `make build` again on this machine, so that it fits its C library and processor.';
}
