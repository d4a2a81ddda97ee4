/** Memory that the engine receives into and that requests keep a reference to. */

import { Buffer } from 'node:buffer';
import { LongWords, RecordHead } from '../generated/layout';

/**
 * Size of a slab. A power of two, and no more than that: V8 collects young memory when that of `ArrayBuffer`s has reached
 * 64 MB, and marks the whole heap when all of it has grown by more. Only what divides 64 MB lets the cheap one come first.
 */
const SLAB_BYTES = 64 * 1024;
/** Where messages of about 16 KB come: four of them, with what events say of them. In `SLAB_BYTES` only three have room. */
const FOUR_MESSAGES_BYTES = 65 * 1024;
const LEAST_MESSAGE_BYTES = 8 * 1024;
const MOST_MESSAGE_BYTES = 32 * 1024;

/** One slab, as bytes and as words. */
export interface Slab {
  readonly bytes: Buffer;
  readonly words: Int32Array;
}

/** Makes a slab of at least so many bytes. Made in JavaScript: by Node-API it costs ten times as much. */
export function makeSlab(bytes: number): Slab {
  const isForMessages = bytes > LEAST_MESSAGE_BYTES && bytes < MOST_MESSAGE_BYTES;
  const buffer = Buffer.allocUnsafeSlow(Math.max(isForMessages ? FOUR_MESSAGES_BYTES : SLAB_BYTES, (bytes + 7) & ~7));
  return { bytes: buffer, words: new Int32Array(buffer.buffer, buffer.byteOffset, buffer.byteLength >> 2) };
}

/** Flags of the record at word `at`. */
export function flagsOf(words: Int32Array, at: number): number {
  return words[at + RecordHead.KIND] >>> RecordHead.FLAGS_SHIFT;
}

/** A number of two words, the low one first. */
export function readLong(words: Int32Array, at: number): number {
  return (words[at + LongWords.LOW] >>> 0) + words[at + LongWords.HIGH] * 0x100000000;
}

/**
 * Below this size a chunk is copied out of its slab. A program may hold a chunk for as long as it likes, and with it
 * the slab; a view of 4 KB keeps at most 16 times its size alive, and the copy of less costs about as much as the view.
 */
const COPY_BELOW = 4096;

/** Below this it is copied byte by byte. */
const SMALL = 128;

/** Bytes of a record's payload as a Buffer that the program may keep. */
export function takeBytes(slab: Slab, start: number, length: number): Buffer {
  if (length < SMALL) return copySmall(slab.bytes, start, length);
  const view = slab.bytes.subarray(start, start + length);
  return length < COPY_BELOW ? Buffer.from(view) : view;
}

/** A few bytes: a loop beats the view that `Buffer.from` wants of them. */
function copySmall(bytes: Buffer, start: number, length: number): Buffer {
  const copy = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at++) copy[at] = bytes[start + at];
  return copy;
}
