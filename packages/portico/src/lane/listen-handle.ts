/**
 * The moment where `net.Server` has a bound handle and would listen on it.
 *
 * libuv's handle stays: it holds the address, the path of a Unix socket, and what `server.address()` asks. Its
 * descriptor is given to the engine, which listens and accepts on a copy.
 */

import type { AttachedServer } from './attached-server';
import { leaveToNode, OWN_CONNECTIONS } from './stock-server';

interface ListenHandle {
  /** Called for each connection, by the cluster module or libuv. */
  onconnection?: unknown;
  fd?: number;
  listen(backlog: number): number;
  close(done?: () => void): void;
  ref?(): void;
  unref?(): void;
  hasRef?(): boolean;
  getsockname?(out: object): number;
}

/** A connection that a cluster's primary hands to this worker. */
interface ClientHandle {
  fd: number;
  close(): void;
}

const UV_EINVAL = -22;

/** Puts our own methods over the handle's. */
export function interceptHandle(attached: AttachedServer, object: object): void {
  const handle = object as ListenHandle;
  const isShared = typeof handle.fd !== 'number' || handle.fd < 0;
  if (isShared && !('listen' in handle)) return;
  const { close, ref, unref } = handle;
  const stock = { listen: handle.listen, close, ref, unref, hasRef: handle.hasRef };
  const own = Object.keys(stock).filter((name) => Object.hasOwn(handle, name));
  let backlogSize = 0;
  intercepted.set(handle, () => {
    for (const [name, value] of Object.entries(stock)) {
      if (own.includes(name)) define(handle, name, value);
      else delete (handle as unknown as Record<string, unknown>)[name];
    }
    releaseConnections(handle);
    return isShared ? 0 : handle.listen(backlogSize);
  });
  define(handle, 'listen', (backlog: number) => {
    backlogSize = backlog;
    if (!attached.keepsOwnListeners) return giveBack(attached, handle);
    return isShared ? adoptLater(attached) : listen(attached, handle, backlog);
  });
  define(handle, 'close', (done?: () => void) => {
    attached.close();
    close.call(handle, done);
  });
  define(handle, 'ref', () => {
    attached.setRef(true);
    ref?.call(handle);
  });
  define(handle, 'unref', () => {
    attached.setRef(false);
    unref?.call(handle);
  });
  define(handle, 'hasRef', () => attached.referenced);
  if (isShared) takeConnections(attached, handle);
}

/** What takes our own methods off a handle and listens as Node does; returns libuv's error number. */
const intercepted = new WeakMap<object, () => number>();

function giveBack(attached: AttachedServer, handle: object): number {
  leaveToNode(attached, OWN_CONNECTIONS);
  return intercepted.get(handle)?.() ?? 0;
}

/** A server that listens on the engine listens on Node's stack from now on; the connections it has go on as they are. */
export function leaveListening(attached: AttachedServer): void {
  const { handle } = attached;
  if (handle === null || !intercepted.has(handle)) return;
  attached.close();
  giveBack(attached, handle);
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

/** Returns a libuv error number, 0 if all is well: what `net.Server` expects. */
function listen(attached: AttachedServer, handle: ListenHandle, backlog: number): number {
  // libuv keeps EADDRINUSE of bind(2) until the program listens, or asks for the address.
  const bindError = handle.getsockname?.({}) ?? 0;
  if (bindError !== 0) return bindError;
  try {
    attached.listen(handle.fd as number, backlog);
    return 0;
  } catch (error) {
    return errnoOf(error);
  }
}

/** In a cluster's worker the primary accepts: connections come one by one. */
function adoptLater(attached: AttachedServer): number {
  attached.createListener();
  return 0;
}

function errnoOf(error: unknown): number {
  const { errno } = error as NodeJS.ErrnoException;
  // An error without a number is a bug of ours, and must not look like one of the network.
  if (typeof errno !== 'number') throw error;
  return errno === 0 ? UV_EINVAL : -Math.abs(errno);
}

/** What `net.Server` has set as `onconnection`, while ours stands there. */
const stockReceivers = new WeakMap<object, unknown>();

/** `net.Server` sets `onconnection`; the cluster module calls it. */
function takeConnections(attached: AttachedServer, handle: object): void {
  const receive = (status: number, client: ClientHandle | undefined): void => {
    if (status !== 0 || client === undefined) return;
    attached.adopt(client.fd);
    client.close();
  };
  Object.defineProperty(handle, 'onconnection', {
    configurable: true, get: () => receive, set: (stock: unknown) => { stockReceivers.set(handle, stock); },
  });
}

function releaseConnections(handle: ListenHandle): void {
  if (!stockReceivers.has(handle)) return;
  define(handle, 'onconnection', stockReceivers.get(handle));
}
