/**
 * `server.listen(PORT)` in a worker of a process host: the port stands for the application's URL prefixes, and the server
 * is registered on them. Which ports do is said by the host's environment variables; all others are opened by Node.
 */

import net = require('node:net');
import { alreadyListening, stockServerProblem } from '../host/listen-on-prefix';
import { prefixError } from '../host/errors';
import { attachmentOf, type ServerObject } from '../lane/attached-server';
import { Attachment, hasAttached } from './attachment';
import { openWorkerConnection } from './connection';
import { workerEnvironment, type WorkerEnvironment } from './environment';
import { askedPort, mayAttach, prefixesFor, type AskedPort } from './listen-arguments';

/** Servers whose host name is being looked up. */
const lookingUp = new WeakSet<ServerObject>();

/**
 * Attaches a server, if its arguments name a port of this worker's.
 *
 * @returns false if Node is to listen
 * @throws what Node's `listen` throws
 */
export function listenInWorker(server: ServerObject, args: readonly unknown[]): boolean {
  const worker = workerEnvironment();
  // A session of node:http2 is a whole connection, which a host gives to no one process.
  if (worker === undefined || attachmentOf(server).http2 !== undefined) return false;
  const asked = askedPort(args);
  if (asked === undefined || !mayAttach(worker, asked.port)) return false;
  if (asked.host !== undefined) return attachByName(server, worker, asked, asked.host);
  const prefixes = choosePrefixes(server, worker, asked.port, undefined);
  if (prefixes === undefined) return false;
  prepare(server, asked);
  attach(server, worker, asked, undefined, prefixes);
  return true;
}

/** A host is looked up first, as Node does, addresses as well: until then the server is not listening. */
function attachByName(server: ServerObject & { _listeningId?: number }, worker: WorkerEnvironment, asked: AskedPort, host: string): boolean {
  // What a name means may be loopback, where a port 0 is not the worker's.
  if (choosePrefixes(server, worker, asked.port, net.isIP(host) === 0 ? '127.0.0.1' : host) === undefined) return false;
  prepare(server, asked);
  lookingUp.add(server);
  const { _listeningId: attempt } = server;
  // Loaded here and not above: every program that is preloaded would pay for it.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { lookup } = require('node:dns') as typeof import('node:dns');
  lookup(host, (error, address) => {
    lookingUp.delete(server);
    if (server._listeningId !== attempt) return;
    if (error !== null) {
      server.emit('error', error);
      return;
    }
    attach(server, worker, asked, address, choosePrefixes(server, worker, asked.port, address) ?? []);
  });
  return true;
}

/** The prefixes of a port that this kind of server may take; empty if there are some, but none for it. */
function choosePrefixes(server: ServerObject, worker: WorkerEnvironment, port: number, address: string | undefined): readonly string[] | undefined {
  const prefixes = prefixesFor(worker, port, address, !hasAttached());
  if (prefixes === undefined || attachmentOf(server).provider === undefined) return prefixes;
  const encrypted = prefixes.filter((prefix) => /^https:/i.test(prefix));
  // On a port that is not the application's own, a server with a certificate of its own serves it.
  return encrypted.length === 0 && !worker.prefixes.has(String(port)) ? undefined : encrypted;
}

/** What Node's `listen` does with its arguments before it looks at an address. */
function prepare(server: ServerObject, { callback, signal }: AskedPort): void {
  if (server._handle || lookingUp.has(server)) {
    throw alreadyListening();
  }
  if (callback !== undefined) server.once('listening', callback);
  if (signal === undefined) return;
  const close = (): void => { server.close(); };
  if (signal.aborted) process.nextTick(close);
  else {
    signal.addEventListener('abort', close, { once: true });
    server.once('close', () => signal.removeEventListener('abort', close));
  }
}

function attach(server: ServerObject, { id }: WorkerEnvironment, asked: AskedPort, address: string | undefined, prefixes: readonly string[]): void {
  const attached = attachmentOf(server);
  try {
    const problem = prefixes.length === 0 ? noEncryptedPrefix(asked.port) : stockServerProblem(attached, `port ${asked.port}, which stands for ${prefixes.join(', ')}`);
    if (problem !== undefined) throw problem;
    const attachment = new Attachment(attached, { port: asked.port, address }, prefixes);
    openWorkerConnection();
    void attachment.begin(id, asked.exclusive);
  } catch (error) {
    process.nextTick(() => server.emit('error', error));
  }
}

function noEncryptedPrefix(port: number): Error {
  return prefixError('ERR_PORTICO_PREFIX_SCHEME', `Port ${port} stands for the application's URL prefixes, and none of them begins with https://, which a server of node:https needs. `
    + 'Use node:http (the host ends TLS, with its own certificates), or give the application an https prefix.');
}
