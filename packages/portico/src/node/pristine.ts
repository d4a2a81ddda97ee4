/**
 * Whether a function is Node's own, or what a program has put in its place before Portico was loaded.
 *
 * Node keeps the source text of its modules, and a function tells its own: a wrapper's is not in there. Where Node does
 * not give the text (its permission model), every function counts as Node's.
 */

import process = require('node:process');

interface Internals {
  binding?(name: 'natives'): Record<string, string>;
  noDeprecation?: boolean;
}

/** Modules whose functions stand on servers, requests, responses and sockets. */
const MODULES = ['events', '_http_server', '_http_outgoing', '_http_incoming', '_http_common', 'http', 'https', 'net', 'domain',
  '_tls_wrap', 'internal/tls/wrap', '_stream_readable', 'internal/stream_base_commons', 'internal/streams/readable',
  'internal/streams/writable', 'internal/streams/duplex', 'internal/streams/legacy', 'internal/streams/destroy', 'internal/util'];

let texts: readonly string[] | undefined;

/** True for functions that Node's modules define; true for all if that can't be told. */
export function isNodesOwn(value: unknown): boolean {
  if (typeof value !== 'function') return true;
  texts ??= readTexts();
  if (texts.length === 0) return true;
  const source = Function.prototype.toString.call(value);
  return texts.some((text) => text.includes(source));
}

function readTexts(): string[] {
  const internals = process as unknown as Internals;
  const { noDeprecation } = internals;
  // `process.binding` warns where `--pending-deprecation` asks for it; the program has not called it.
  internals.noDeprecation = true;
  try {
    const natives = internals.binding?.('natives') ?? {};
    return MODULES.map((name) => natives[name]).filter((text) => typeof text === 'string');
  } catch {
    return [];
  } finally {
    if (noDeprecation === undefined) delete internals.noDeprecation;
    else internals.noDeprecation = noDeprecation;
  }
}
