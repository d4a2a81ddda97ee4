/**
 * What 'upgrade' gets while the body of its request is still arriving (Node 26): the client's bytes behind the body, and
 * a way to write to it at once. Where the body has come, 'upgrade' gets the socket itself.
 */

import { Duplex } from 'node:stream';
import type { LaneSocket } from '../lane/socket';
import type { Request } from './incoming-message';

type Done = (error?: Error | null) => void;

/** A connection that speaks another protocol behind the body of its last request. */
export class UpgradeStream extends Duplex {
  readonly #socket: LaneSocket;
  /** Until its body has come. */
  #request: Request | null;

  constructor(socket: LaneSocket, request: Request) {
    super({ allowHalfOpen: socket.allowHalfOpen });
    this.#socket = socket;
    this.#request = request;
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    this.on('close', () => socket.destroy());
    socket.on('end', () => {
      this.push(null);
      // As of a socket, 'end' comes where nothing is left to read, whoever listens.
      if (this.readableLength === 0) this.resume();
    });
  }

  /** The body has come: what follows is this stream's. */
  begin(): void {
    this.#request = null;
    this.#socket.on('data', (bytes) => {
      if (!this.push(bytes)) this.#socket.pause();
    });
  }

  /** A body that nobody reads must not stand between the client and the reader of this. */
  override _read(): void {
    this.#request?.resume();
    this.#socket.resume();
  }

  override _write(chunk: Uint8Array, encoding: BufferEncoding, callback: Done): void {
    this.#socket.write(chunk, encoding, callback);
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: Done): void {
    this.#socket.destroy(error ?? undefined);
    callback(error);
  }
}
