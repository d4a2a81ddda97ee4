/**
 * Writes of bytes as they are, on one connection or stream, until the kernel is known to have taken them.
 *
 * The engine tells it in three ways. Small writes count as taken at once. Of a large one in a tunnel `submit` says whether
 * the kernel has taken it, where the engine runs in the event loop. Others are asked about with their record, and `FLUSHED`
 * answers in their order.
 */

import * as layout from '../generated/layout';
import type { Connection } from './connection';
import { EXTERNAL_BYTES, type WrittenChunk } from './writer';

/** What surely fits into a socket's buffer. */
export const WRITTEN_AT_ONCE_BYTES = 16 * 1024;

/** In a tunnel, bytes of writes that count as done at once after which the engine is asked whether they are. */
const UNASKED_BYTES = 2048;

/** A write without bytes. */
const NOTHING: readonly WrittenChunk[] = [{ chunk: '', encoding: 'latin1' }];

/** What waits for a record of this connection to have been handed to the kernel. */
export type Acknowledged = (error?: Error | null) => void;

/** A write, and the callback that waits for it, if there is one. */
export interface RawWrite {
  bytes: number;
  acknowledged: Acknowledged | null;
}

/** The writes of one connection. Its methods write commands; none blocks. */
export class RawWrites {
  readonly #connection: Connection;
  /** Those that the engine has been asked about, oldest first. */
  #asked: RawWrite[] = [];
  /** Their bytes, and those of later writes that it has not been asked about. */
  #bytes = 0;
  /** Those of the later writes. */
  #unaskedBytes = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * `acknowledged` is called when the kernel has the chunk. What surely fits into the socket's buffer counts as there at
   * once, as in Node, which writes it at once: programs look at what a write leaves queued.
   */
  write(chunk: string | Uint8Array, length: number, encoding: BufferEncoding, acknowledged: Acknowledged): void {
    if (length >= EXTERNAL_BYTES && this.#isToldOfSends) this.#writeLarge(chunk, length, encoding, acknowledged);
    else this.writeJoined([{ chunk, encoding }], length, acknowledged);
  }

  /** The same of several chunks that leave in one record; they have fewer than `EXTERNAL_BYTES`, unless it is one. */
  writeJoined(chunks: readonly WrittenChunk[], length: number, acknowledged: Acknowledged): void {
    const atOnce = this.#bytes + length <= WRITTEN_AT_ONCE_BYTES;
    this.#connection.sendRaw(this.#note(length, atOnce ? null : acknowledged), chunks, length);
    if (atOnce) acknowledged(null);
  }

  /** Calls back when the kernel has all that was written. */
  whenWritten(acknowledged: Acknowledged): void {
    this.#connection.sendRaw(this.#note(0, acknowledged), NOTHING, 0);
  }

  /** The kernel has the oldest that the engine was asked about. */
  written(): void {
    const write = this.#asked.shift();
    if (write === undefined) return;
    this.#bytes -= write.bytes;
    write.acknowledged?.(null);
  }

  /** Those that the engine will not tell of any more: the connection has gone. */
  take(): readonly RawWrite[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  /**
   * Whether `submit` says if the kernel has taken a write. Not in a stream, whose bytes are the connection's to frame, and not
   * while the engine has been asked about earlier writes, which it answers in their order.
   */
  get #isToldOfSends(): boolean {
    const { tunnel, isStream, lane } = this.#connection;
    return tunnel && !isStream && lane.writer.isToldOfSends && this.#asked.length === 0;
  }

  #writeLarge(chunk: string | Uint8Array, length: number, encoding: BufferEncoding, acknowledged: Acknowledged): void {
    const { token, lane: { writer } } = this.#connection;
    writer.raw(token, 0, chunk, length, encoding);
    if (writer.hasSent) {
      // And all that was written before.
      this.#bytes = this.#unaskedBytes = 0;
      acknowledged(null);
      return;
    }
    const atOnce = this.#bytes + length <= WRITTEN_AT_ONCE_BYTES;
    writer.raw(token, this.#note(length, atOnce ? null : acknowledged), '', 0, 'latin1');
    if (atOnce) acknowledged(null);
  }

  /** Keeps account of a write. Returns the flags of its record: in a tunnel the engine is asked where a callback waits, and now and then. */
  #note(length: number, acknowledged: Acknowledged | null): number {
    this.#bytes += length;
    this.#unaskedBytes += length;
    if (this.#connection.tunnel && acknowledged === null && this.#unaskedBytes < UNASKED_BYTES) return 0;
    this.#asked.push({ bytes: this.#unaskedBytes, acknowledged });
    this.#unaskedBytes = 0;
    return layout.RESPONSE_FLAG_ACK;
  }
}
