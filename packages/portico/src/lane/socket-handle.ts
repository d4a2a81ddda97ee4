/**
 * What stands where `net.Socket` expects libuv's handle: the members that Node's JavaScript calls on it.
 * Bytes don't pass here; the socket's own methods see to them.
 */

import type { Connection } from './connection';

interface Address { address?: string; port?: number; family?: string | undefined }

/** A connection behind the members of libuv's handle. */
export class SocketHandle {
  readonly #connection: Connection;
  #referenced = true;
  /** Set by `net.Socket`; never called. */
  onread: unknown = undefined;
  reading = false;
  /** Bytes not yet handed to the kernel: unknown here, and only used for timers that we don't have. */
  readonly writeQueueSize = 0;
  readonly isStreamBase = false;
  readonly fd = -1;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get bytesRead(): number {
    return this.#connection.traffic()[0];
  }

  get bytesWritten(): number {
    return this.#connection.traffic()[1];
  }

  getAsyncId(): number {
    return this.#connection.resource.asyncId();
  }

  getProviderType(): number {
    return 0;
  }

  getpeername(out: Address): number {
    const { remoteFamily, remoteAddress, remotePort } = this.#connection.addresses;
    return fill(out, remoteFamily, remoteAddress, remotePort);
  }

  getsockname(out: Address): number {
    const { localFamily, localAddress, localPort } = this.#connection.addresses;
    return fill(out, localFamily, localAddress, localPort);
  }

  readStart(): number {
    return 0;
  }

  readStop(): number {
    return 0;
  }

  /** `_final` of the socket doesn't come here. 1: done already. */
  shutdown(): number {
    return 1;
  }

  ref(): void {
    this.#referenced = true;
    this.#connection.setRef(true);
  }

  unref(): void {
    this.#referenced = false;
    this.#connection.setRef(false);
  }

  hasRef(): boolean {
    return this.#referenced && !this.#connection.closed;
  }

  setNoDelay(): number {
    return 0;
  }

  setKeepAlive(): number {
    return 0;
  }

  setBlocking(): number {
    return 0;
  }

  getTypeOfService(): number {
    return 0;
  }

  setTypeOfService(): number {
    return 0;
  }

  reset(done: () => void): number {
    this.#connection.abort(true);
    this.close(done);
    return 0;
  }

  /** `done` emits 'close': when the engine has let the connection go, and behind immediates, as libuv closes handles. */
  close(done?: () => void): void {
    const connection = this.#connection;
    connection.abort();
    if (done !== undefined) connection.whenClosed(() => void setImmediate(done));
  }
}

function fill(out: Address, family: string | undefined, address: string | undefined, port: number): number {
  if (address === undefined) return 0;
  out.address = address;
  out.family = family;
  out.port = port;
  return 0;
}
