/**
 * A server that a worker's program told to listen on a port, and that is registered on URL prefixes instead.
 */

import cluster = require('node:cluster');
import net = require('node:net');
import { joinCluster } from '../host/cluster-worker';
import type { PrefixOwner } from '../host/prefix-handle';
import { PrefixHandle } from '../host/prefix-handle';
import { registerPrefix, type Grant, type WorkerPlace } from '../host/register-prefix';
import { Registration } from '../host/registration';
import type { AttachedServer } from '../lane/attached-server';
import { isWildcard } from './listen-arguments';

/** Milliseconds for which a host that is being replaced may be away when a program begins to listen. */
const HOST_ABSENT_MS = 15_000;
/** Milliseconds between two attempts to reach it. */
const RETRY_MS = 100;

/** Longest pause of a timer. */
const LONGEST_INTERVAL_MS = 0x7fffffff;

/** Where a server listens, as the program sees it. */
export interface ListenPlace {
  port: number;
  /** An IP address; undefined: all. */
  address: string | undefined;
}

/** The attachments of this environment that have not been closed. */
const attachments = new Set<Attachment>();
let attachedOnce = false;

/** Whether a server of this environment has been attached. */
export function hasAttached(): boolean {
  return attachedOnce;
}

/** What stands in `server._handle` for such a server asks this. */
export class Attachment implements PrefixOwner {
  readonly #attached: AttachedServer;
  readonly #place: ListenPlace;
  readonly #prefixes: readonly string[];
  #registrations: Registration[] = [];
  #left = false;
  /** Without a registration of its own nothing else keeps the event loop alive. */
  readonly #keepAlive: NodeJS.Timeout | undefined;
  #address: PrefixOwner['address'];

  /**
   * The server is listening for the program at once; `begin` asks the host.
   *
   * @param prefixes what stands for the place
   * @throws an error with Node's code EADDRINUSE, if another server of this environment has it
   */
  constructor(attached: AttachedServer, place: ListenPlace, prefixes: readonly string[]) {
    this.#attached = attached;
    this.#place = place;
    if ([...attachments].some((other) => other.#conflictsWith(place))) throw addressInUse(place);
    // The same port on another address, as frameworks open it for ::1 beside 127.0.0.1: one registration serves both.
    const held = new Set([...attachments].flatMap((other) => other.#prefixes));
    this.#prefixes = prefixes.filter((prefix) => !held.has(prefix));
    this.#address = addressOf(place, prefixes);
    attachments.add(this);
    attachedOnce = true;
    if (this.#prefixes.length === 0) this.#keepAlive = setInterval(() => undefined, LONGEST_INTERVAL_MS);
    attached.server._handle = new PrefixHandle(this);
  }

  get address(): PrefixOwner['address'] {
    return this.#address;
  }

  get referenced(): boolean {
    return this.#attached.referenced;
  }

  setRef(referenced: boolean): void {
    this.#attached.setRef(referenced);
    if (referenced) this.#keepAlive?.ref();
    else this.#keepAlive?.unref();
  }

  leave(done: () => void): void {
    if (this.#left) return done();
    this.#left = true;
    attachments.delete(this);
    clearInterval(this.#keepAlive);
    let left = this.#registrations.length;
    if (left === 0) return done();
    for (const registration of this.#registrations) registration.leave(() => --left === 0 && done());
  }

  /** Registers all prefixes; 'listening' or 'error' tells how it went. */
  async begin(workerId: string, exclusive: boolean): Promise<void> {
    const { server } = this.#attached;
    const worker: WorkerPlace = { id: workerId, port: this.#place.port, shared: cluster.isWorker && !exclusive };
    if (!isWildcard(this.#place.address)) worker.address = this.#place.address;
    const settled = await Promise.allSettled(this.#prefixes.map((prefix) => registerPatiently(prefix, worker)));
    const grants = settled.flatMap((each) => each.status === 'fulfilled' ? [each.value] : []);
    const failed = settled.find((each) => each.status === 'rejected');
    if (this.#left || failed !== undefined) for (const grant of grants) grant.connection.discard();
    // `close` was called meanwhile.
    if (this.#left) return;
    if (failed !== undefined) return this.#fail(failed.reason as NodeJS.ErrnoException);
    this.#registrations = grants.map((grant, index) => new Registration(this.#attached, this.#prefixes[index], grant, worker));
    process.nextTick(() => {
      if (this.#left) return;
      joinCluster(server);
      server.emit('listening');
    });
  }

  #fail(error: NodeJS.ErrnoException): void {
    const { server } = this.#attached;
    this.#left = true;
    attachments.delete(this);
    server._handle = null;
    const told = error.code === 'EADDRINUSE' ? addressInUse(this.#place, error.message) : error;
    process.nextTick(() => server.emit('error', told));
  }

  #conflictsWith({ port, address }: ListenPlace): boolean {
    const own = this.#place;
    return port !== 0 && own.port === port && (isWildcard(own.address) || isWildcard(address) || own.address === address);
  }
}

/** A host that is replaced or started again is waited for: this process was started by it, and outlives it. */
async function registerPatiently(prefix: string, worker: WorkerPlace): Promise<Grant> {
  const deadline = Date.now() + HOST_ABSENT_MS;
  for (;;) {
    try {
      return await registerPrefix(prefix, worker);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ERR_PORTICO_NO_HOST' && code !== 'ERR_PORTICO_HOST_STOPPING' || Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** What `server.address()` shows: what the program asked for. Of port 0, the first prefix's. */
function addressOf({ port, address = '::' }: ListenPlace, [prefix = '']: readonly string[]): PrefixOwner['address'] {
  return { address, family: net.isIPv6(address) ? 'IPv6' : 'IPv4', port: port || Number(/:(\d+)\//.exec(prefix)?.[1] ?? 0) };
}

/** Node's own error of a port that is taken. */
function addressInUse({ port, address = '::' }: ListenPlace, cause?: string): Error {
  const message = `listen EADDRINUSE: address already in use ${address}:${port}${cause === undefined ? '' : ` (${cause})`}`;
  return Object.assign(new Error(message), { code: 'EADDRINUSE', errno: -98, syscall: 'listen', address, port });
}
