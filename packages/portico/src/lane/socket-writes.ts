/**
 * Bytes that a program writes to the socket of a connection, from the socket's stream to the engine.
 *
 * The stream gives one write at a time, and keeps what follows until that has been acknowledged, or while it is corked. What
 * the response hands over goes past the stream. So that it does not overtake, bytes that the stream keeps are handed over
 * ahead of it, and when the stream gives them, only their acknowledgement is still to come.
 */

import type { Connection } from './connection';
import type { Acknowledged } from './raw-writes';
import type { LaneSocket } from './socket';
import { byteLength, EXTERNAL_BYTES, type WrittenChunk } from './writer';

/** A write that was handed over before the stream gave it. */
export class WrittenAhead {
  #outcome: Error | null | undefined = undefined;
  #callback: Acknowledged | null = null;

  readonly acknowledge: Acknowledged = (error = null) => {
    this.#outcome = error;
    this.#callback?.(error);
  };

  /** Calls back when the kernel has it. */
  whenWritten(callback: Acknowledged): void {
    if (this.#outcome === undefined) this.#callback = callback;
    else callback(this.#outcome);
  }
}

/** A write that the stream gives. */
export function writeOne(connection: Connection, { chunk, encoding }: WrittenChunk, callback: Acknowledged): void {
  const ahead = connection.writtenAhead?.shift();
  if (ahead === undefined) handOver(connection, chunk, encoding, callback);
  else ahead.whenWritten(callback);
}

/** Several, with one callback; small ones leave in one record. */
export function writeMany(connection: Connection, chunks: readonly WrittenChunk[], callback: Acknowledged): void {
  if (!connection.writtenAhead?.length) {
    const length = chunks.reduce((bytes, { chunk, encoding }) => bytes + byteLength(chunk, encoding), 0);
    if (length < EXTERNAL_BYTES) return connection.rawWrites.writeJoined(chunks, length, callback);
  }
  const last = chunks.length - 1;
  chunks.forEach((chunk, index) => writeOne(connection, chunk, index === last ? callback : ignore));
}

/** The same on a connection that is shared. What is refused is thrown to whoever called, and the stream goes on. */
export function writeShared(connection: Connection, chunks: readonly WrittenChunk[], callback: Acknowledged): void {
  try {
    for (const { chunk, encoding } of chunks) connection.protocol.writeAnswer(toBytes(chunk, encoding));
  } finally {
    callback();
  }
}

/** Hands over what the stream keeps: something that goes past it follows. */
export function writeAhead(connection: Connection, socket: LaneSocket): void {
  if (connection.closed || connection.destroying || connection.isShared) return;
  const ahead = connection.writtenAhead ??= [];
  for (const { chunk, encoding } of socket._writableState.getBuffer().slice(ahead.length)) {
    const write = new WrittenAhead();
    ahead.push(write);
    handOver(connection, chunk, encoding, write.acknowledge);
  }
}

export function toBytes(chunk: unknown, encoding: BufferEncoding | undefined): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk as Uint8Array;
}

function handOver(connection: Connection, chunk: string | Uint8Array, encoding: BufferEncoding, callback: Acknowledged): void {
  connection.rawWrites.write(chunk, byteLength(chunk, encoding), encoding, callback);
}

function ignore(): void { /* Only the last of several tells. */ }
