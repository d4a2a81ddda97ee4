/**
 * Remembers what each SecureContext was made of.
 *
 * A SecureContext is OpenSSL's, and nothing can be read out of it; but `SNICallback` and `addContext` are given one,
 * and the engine needs its keys. So `tls.createSecureContext` is wrapped: it makes the context as ever (OpenSSL checks
 * the options, and throws its own errors) and notes the options beside it. Nothing else changes, clients included.
 */

import { syncBuiltinESMExports } from 'node:module';
import * as tlsNamespace from 'node:tls';
import type { SecureContext, SecureContextOptions } from 'node:tls';

/** What is noted: the options as given, and those that Node reads but its types don't list. */
export type RecordedOptions = SecureContextOptions & {
  allowPartialTrustChain?: boolean;
  certificateCompression?: readonly string[];
  sigalgs?: string;
};

/** By both objects that users hold: the SecureContext, and OpenSSL's own object inside (`context.context`). */
const recorded = new WeakMap<object, RecordedOptions>();

/** The module's exports object, as CommonJS sees it; an ES namespace can't be written to. */
// eslint-disable-next-line @typescript-eslint/no-require-imports
const tls = require('node:tls') as typeof tlsNamespace;

let installed = false;

/** Wraps `tls.createSecureContext`. A second call does nothing. */
export function installSecureContextRecorder(): void {
  if (installed) return;
  installed = true;
  const original = tls.createSecureContext;
  tls.createSecureContext = function createSecureContext(options?: SecureContextOptions): SecureContext {
    const context = Reflect.apply(original, this, [options]) as SecureContext;
    record(context, { ...options } as RecordedOptions);
    return context;
  };
  syncBuiltinESMExports();
}

function record(context: SecureContext, options: RecordedOptions): void {
  recorded.set(context, options);
  const inner = (context as { context?: unknown }).context;
  if (typeof inner === 'object' && inner !== null) recorded.set(inner, options);
}

/** The options of a SecureContext or of OpenSSL's object in it; undefined if it was made before the wrapping. */
export function recordedOptions(context: object): RecordedOptions | undefined {
  return recorded.get(context);
}
