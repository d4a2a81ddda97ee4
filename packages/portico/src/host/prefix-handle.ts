/**
 * What stands in `server._handle` for a server that listens on a URL prefix: Node's own methods of the server ask it.
 */

/** What the handle's owner does. */
export interface PrefixOwner {
  /** The server stops listening; `done` is called when the host knows. */
  leave(done: () => void): void;
  setRef(referenced: boolean): void;
  readonly referenced: boolean;
  readonly address: { address: string; family: string; port: number };
}

/** The handle. */
export class PrefixHandle {
  readonly #owner: PrefixOwner;

  constructor(owner: PrefixOwner) {
    this.#owner = owner;
  }

  close(done?: () => void): void {
    this.#owner.leave(() => done?.());
  }

  ref(): void {
    this.#owner.setRef(true);
  }

  unref(): void {
    this.#owner.setRef(false);
  }

  hasRef(): boolean {
    return this.#owner.referenced;
  }

  /** What `server.address()` shows: where the host listens. */
  getsockname(out: Record<string, unknown>): number {
    Object.assign(out, this.#owner.address);
    return 0;
  }
}
