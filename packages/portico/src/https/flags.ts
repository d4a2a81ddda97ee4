/**
 * What the command line says about TLS servers, in the flags of Node that only its own TLS reads.
 */

import { getFips } from 'node:crypto';
import { appendFile } from 'node:fs';

/** Node's flags in force: those of the command line after those of NODE_OPTIONS. */
function flags(): string[] {
  return [...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/), ...process.execArgv];
}

/** File of `--tls-keylog`, which every key log line of every server goes to; undefined if there is none. */
export function keyLogFile(): string | undefined {
  const all = flags();
  const at = all.findLastIndex((flag) => flag === '--tls-keylog' || flag.startsWith('--tls-keylog='));
  if (at === -1) return undefined;
  return all[at].includes('=') ? all[at].slice(all[at].indexOf('=') + 1) : all[at + 1];
}

let warned = false;

/** Appends a line to the file of `--tls-keylog`; says once if that fails, as Node does. */
export function appendKeyLog(file: string, line: Buffer): void {
  appendFile(file, line, { mode: 0o600 }, (error) => {
    if (error === null || warned) return;
    warned = true;
    process.emitWarning(`Failed to write TLS keylog (this warning will not be repeated): ${String(error)}`);
  });
}

/**
 * Why no server of this process may use the engine's TLS; undefined if there is no reason.
 * The engine's cryptography is not the validated module that FIPS mode asks for, and it can't trace.
 */
export function reasonForNodeTls(): string | undefined {
  if (getFips() === 1) return 'FIPS mode is on';
  if (flags().includes('--trace-tls')) return '--trace-tls needs OpenSSL';
  return undefined;
}
