/**
 * What a program asks for when it calls `server.listen` in a worker, and which prefixes stand for that.
 */

import net = require('node:net');
import type { WorkerEnvironment } from './environment';

/** A call of `listen` that means a TCP port. */
export interface AskedPort {
  port: number;
  /** As the program wrote it; undefined: all addresses. */
  host: string | undefined;
  exclusive: boolean;
  signal: AbortSignal | undefined;
  callback: (() => void) | undefined;
}

interface ListenOptions {
  port?: unknown;
  host?: unknown;
  path?: unknown;
  fd?: unknown;
  handle?: unknown;
  _handle?: unknown;
  exclusive?: unknown;
  signal?: unknown;
}

/** Node's own reader of `listen`'s arguments. */
const { _normalizeArgs: normalizeArguments } = net as unknown as {
  _normalizeArgs(args: readonly unknown[]): [options: ListenOptions, callback: (() => void) | null];
};

/** The port that `listen`'s arguments mean; undefined if they mean something else, or nothing that Node would take. */
export function askedPort(args: readonly unknown[]): AskedPort | undefined {
  const [options, callback] = normalizeArguments(args);
  // A handle, or an object that has one: Node looks for these first.
  if (options.fd !== undefined && options.fd !== null || options._handle || options.handle || options.path) return undefined;
  const port = portOf(args, options);
  if (port === undefined) return undefined;
  const { host, exclusive, signal } = options;
  return {
    port,
    host: typeof host === 'string' && host !== '' ? host : undefined,
    exclusive: exclusive === true,
    signal: signal as AbortSignal | undefined,
    callback: callback ?? undefined,
  };
}

/** `listen()`, `listen(callback)` and a port that is undefined or null mean port 0, as in Node. */
function portOf(args: readonly unknown[], options: ListenOptions): number | undefined {
  if (args.length === 0 || typeof args[0] === 'function') return 0;
  const { port } = options;
  if (port === undefined || port === null) return 'port' in options ? 0 : undefined;
  if (typeof port !== 'number' && (typeof port !== 'string' || port.trim() === '')) return undefined;
  const number = Number(port);
  return number === number >>> 0 && number <= 0xffff ? number : undefined;
}

/** Whether an address stands for all of the machine. */
export function isWildcard(host: string | undefined): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}

/**
 * The prefixes that a port stands for; undefined if it is to be opened as without a host.
 *
 * @param address an IP address, undefined for all; where the program gave a name, the address that it means
 * @param first whether no server of this process has been attached yet
 */
export function prefixesFor({ prefixes }: WorkerEnvironment, port: number, address: string | undefined, first: boolean): readonly string[] | undefined {
  // On loopback, a port that the system chooses is for the program's own use.
  if (port === 0) return first && isWildcard(address) ? prefixes.get('0') : undefined;
  const named = prefixes.get(String(port));
  if (named !== undefined) return named;
  const host = isWildcard(address) ? '*' : net.isIPv6(address as string) ? `[${address}]` : address as string;
  return prefixes.get('*')?.map((template) => template.replaceAll('{host}', host).replaceAll('{port}', String(port)));
}

/** Whether the worker might attach a server that listens on this port, whatever its address. */
export function mayAttach({ prefixes }: WorkerEnvironment, port: number): boolean {
  return prefixes.has(String(port)) || port !== 0 && prefixes.has('*');
}
