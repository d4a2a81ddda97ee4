/**
 * Loads the add-on, and says in words why it can't be had. `PORTICO_NATIVE` names its file; otherwise platform.ts knows
 * where it lies.
 */

import { existsSync } from 'node:fs';
import { FINGERPRINT } from '../generated/layout';
import type { Binding } from './binding';
import { addOns, installAdvice, isSourceTree, platforms, SUPPORTED } from './platform';

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

/** Version of the package. */
// eslint-disable-next-line @typescript-eslint/no-require-imports
export const { version: VERSION } = require('../../package.json') as { version: string };

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
  const chosen = process.env['PORTICO_NATIVE'];
  if (chosen && !existsSync(chosen)) {
    throw new AddOnError(`the add-on ${chosen}, which PORTICO_NATIVE names, does not exist`, 'Correct PORTICO_NATIVE or leave it out.');
  }
  const present = chosen ? [chosen] : addOns();
  if (present.length === 0) throw missing();
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

/** Another build's records would be read wrongly: both sides have their tables compiled in. */
function requireVersion(binding: Binding, file: string): Binding {
  const found = typeof binding.version === 'function' ? binding.version() : undefined;
  const records = typeof binding.records === 'function' ? binding.records() : undefined;
  if (found === VERSION && records === FINGERPRINT) return binding;
  let reason = 'no add-on of Portico';
  if (found === VERSION) reason = `version ${found} as the package, but was built from different tables of records`;
  else if (found !== undefined) reason = `version ${found}, the package ${VERSION}`;
  throw new AddOnError(`${file} is ${reason}`,
    isSourceTree() ? installAdvice() : 'Install portico again: it and its platform package must be of one version.');
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

/** Why there is no add-on: a platform without one, or an installation that left it out. */
function missing(): AddOnError {
  const mine = platforms();
  if (!mine.some((platform) => SUPPORTED.includes(platform))) {
    return new AddOnError(`Portico has no add-on for ${process.platform} on ${process.arch}`,
      'It runs on Linux, on x64 and arm64 processors.');
  }
  const what = isSourceTree() ? `the add-on for ${mine[0]} has not been built` : `the package @portico/${libraryOf(mine)} is not installed`;
  return new AddOnError(what, installAdvice());
}

/** The platform's name with this machine's C library, as far as Node tells. */
function libraryOf(names: string[]): string {
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  report.excludeNetwork = true; // names of hosts are looked up otherwise
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return names.find((name) => name.endsWith(header.glibcVersionRuntime === undefined ? '-musl' : '-gnu')) ?? names[0];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.split('\n')[0] : String(error);
}

function adviceOn(error: unknown): string {
  const code = (error as { code?: string } | undefined)?.code;
  if (code === 'ERR_DLOPEN_DISABLED') return 'Leave out --no-addons, or allow it with --allow-addons.';
  return isSourceTree()
    ? 'Run `make build` again on this machine, so that it fits its C library and processor.'
    : 'Install portico again on this machine or in this image, so that the add-on fits its C library and processor.';
}
