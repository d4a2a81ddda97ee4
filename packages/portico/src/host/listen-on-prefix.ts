/**
 * `server.listen('http://*:8080/foo/')`: listening at a host, beside other processes on the same port.
 */

import { attachmentOf, type AttachedServer, type ServerObject } from '../lane/attached-server';
import { OWN_CONNECTIONS } from '../lane/stock-server';
import { joinCluster } from './cluster-worker';
import { prefixError } from './errors';
import { PrefixHandle } from './prefix-handle';
import { registerPrefix } from './register-prefix';
import { Registration } from './registration';

type Callback = (...args: unknown[]) => void;

const SCHEME = /^(https?):\/\//i;

/** What is meant as a prefix: no socket's path begins so, and to Node it would be one, refused with EACCES or ENOENT. */
const ALMOST_PREFIX = /^https?:/i;

/**
 * The URL prefix among `listen`'s arguments, also one that is misspelt; undefined if they mean something else. It is the
 * first argument, its `prefix`, or its `path`, where frameworks put what is no port (Fastify's `listen({ path })`).
 */
export function prefixOf(args: readonly unknown[]): string | undefined {
  const [first] = args;
  if (typeof first !== 'object' || first === null) return isMeant(first) ? first : undefined;
  const { prefix, path } = first as { prefix?: unknown; path?: unknown };
  if (typeof prefix === 'string') return prefix;
  return isMeant(path) ? path : undefined;
}

function isMeant(text: unknown): text is string {
  return typeof text === 'string' && ALMOST_PREFIX.test(text);
}

/**
 * Registers the prefix; 'listening' or 'error' tells how it went.
 *
 * @throws what Node's `listen` throws: for a server that listens already, and for arguments that make no sense
 */
export function listenOnPrefix(server: ServerObject, prefix: string, args: readonly unknown[]): void {
  refuseOtherArguments(args);
  if (server._handle || listening.has(server)) throw alreadyListening();
  const callback = args.find((argument) => typeof argument === 'function') as Callback | undefined;
  if (callback !== undefined) server.once('listening', callback);
  const attached = attachmentOf(server);
  const problem = problemOf(attached, prefix);
  if (problem !== undefined) {
    process.nextTick(() => server.emit('error', problem));
    return;
  }
  listening.add(server);
  void register(server, attached, prefix).finally(() => listening.delete(server));
}

/** Servers whose registration is on its way. */
const listening = new WeakSet<ServerObject>();

async function register(server: ServerObject & { _listeningId?: number }, attached: AttachedServer, prefix: string): Promise<void> {
  const { _listeningId: attempt } = server;
  try {
    const grant = await registerPrefix(prefix);
    // `close` was called meanwhile.
    if (server._listeningId !== attempt) {
      grant.connection.discard();
      return;
    }
    server._handle = new PrefixHandle(new Registration(attached, prefix, grant));
    process.nextTick(() => {
      if (!server._handle) return;
      joinCluster(server);
      server.emit('listening');
    });
  } catch (error) {
    process.nextTick(() => server.emit('error', error));
  }
}

function refuseOtherArguments(args: readonly unknown[]): void {
  const other = args.slice(1).find((argument) => argument !== undefined && argument !== null && typeof argument !== 'function');
  if (other === undefined) return;
  const error = new TypeError(`A URL prefix names scheme, host and port: listen() takes no ${typeof other} beside it.`) as TypeError & { code: string };
  error.code = 'ERR_INVALID_ARG_VALUE';
  throw error;
}

/** What Node's `listen` throws where the server listens. */
export function alreadyListening(): Error {
  const error = new Error('Listen method has been called more than once without closing.') as Error & { code: string };
  error.code = 'ERR_SERVER_ALREADY_LISTEN';
  return error;
}

function problemOf(attached: AttachedServer, prefix: string): Error | undefined {
  const scheme = SCHEME.exec(prefix)?.[1].toLowerCase();
  const expected = attached.provider === undefined ? 'http' : 'https';
  if (scheme === undefined) {
    return prefixError('ERR_PORTICO_PREFIX_INVALID', `${prefix} is no URL prefix: it must begin with http:// or https://, as http://*:8080/ does.`, prefix);
  }
  if (scheme !== expected) {
    return prefixError('ERR_PORTICO_PREFIX_SCHEME',
      `A server of node:${expected} can't listen on ${prefix}: use node:${scheme}, or the prefix ${prefix.replace(SCHEME, `${expected}://`)}.`, prefix);
  }
  return stockServerProblem(attached, 'a URL prefix', prefix);
}

/**
 * Why a server that Node's own stack serves can't listen at a host; undefined if it is one of ours.
 *
 * @param place what it would listen on, in words
 */
export function stockServerProblem(attached: AttachedServer, place: string, prefix?: string): Error | undefined {
  const reason = attached.stockReason ?? (attached.keepsOwnListeners ? undefined : OWN_CONNECTIONS);
  if (reason === undefined) return undefined;
  return prefixError('ERR_PORTICO_STOCK_SERVER', `This server can't listen on ${place}, which needs Portico's stack. ${reason}`, prefix);
}
