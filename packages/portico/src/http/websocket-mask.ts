/**
 * `http.websocketMask` and `http.websocketUnmask` for versions of Node that have none (those before 26.12).
 *
 * The package `ws` calls them where they exist, and otherwise masks byte by byte, which for large messages is half of what
 * they cost. Masking (RFC 6455, section 5.3) is XOR with four bytes over and over: here it is done by words of 32 bits.
 */

import http = require('node:http');
import { types } from 'node:util';
import { nodeError } from '../node/error';

/** Below this, making a view of the words costs more than they save. */
const LEAST_BYTES = 96;
const KEY_BYTES = 4;

/** A masking key from the byte on with which the first word begins: as bytes, and as a word of the machine's order. */
const keyBytes = new Uint8Array(KEY_BYTES);
const keyWord = new Int32Array(keyBytes.buffer);

/**
 * Writes `length` bytes of `source`, masked, to `output` from `offset` on; both may be the same.
 *
 * @throws TypeError what is no `Uint8Array`; RangeError bytes that are not there, or a key of less than four
 */
export function websocketMask(source: Uint8Array, mask: Uint8Array, output: Uint8Array, offset: number, length: number): void {
  requireBytes('source', source, length);
  requireBytes('mask', mask, KEY_BYTES);
  requireNumber('offset', offset);
  requireBytes('output', output, offset + length);
  const shift = output.byteOffset + offset - source.byteOffset;
  // Words that are read ahead of bytes written before them would not see these.
  const isShifted = shift !== 0 && output.buffer === source.buffer;
  let at = 0;
  if (length >= LEAST_BYTES && (shift & 3) === 0 && !isShifted) {
    const lead = -source.byteOffset & 3;
    const count = (length - lead) >> 2;
    const from = new Int32Array(source.buffer, source.byteOffset + lead, count);
    const to = new Int32Array(output.buffer, output.byteOffset + offset + lead, count);
    const word = wordFrom(mask, lead);
    maskBytes(source, mask, output, offset, 0, lead);
    for (let index = 0; index < count; index++) to[index] = from[index] ^ word;
    at = lead + count * 4;
  }
  maskBytes(source, mask, output, offset, at, length);
}

/**
 * Takes the mask off a payload, in its place.
 *
 * @throws TypeError what is no `Uint8Array`; RangeError a key of less than four bytes
 */
export function websocketUnmask(buffer: Uint8Array, mask: Uint8Array): void {
  requireBytes('buffer', buffer, 0);
  requireBytes('mask', mask, KEY_BYTES);
  const { length } = buffer;
  let at = 0;
  if (length >= LEAST_BYTES) {
    const lead = -buffer.byteOffset & 3;
    const words = new Int32Array(buffer.buffer, buffer.byteOffset + lead, (length - lead) >> 2);
    const word = wordFrom(mask, lead);
    maskBytes(buffer, mask, buffer, 0, 0, lead);
    for (let index = 0; index < words.length; index++) words[index] ^= word;
    at = lead + words.length * 4;
  }
  maskBytes(buffer, mask, buffer, 0, at, length);
}

/** Those of the two that Node does not have, for its module's exports. */
export const missingMasks: object = {
  ...'websocketMask' in http ? {} : { websocketMask },
  ...'websocketUnmask' in http ? {} : { websocketUnmask },
};

function maskBytes(source: Uint8Array, mask: Uint8Array, output: Uint8Array, offset: number, from: number, to: number): void {
  for (let at = from; at < to; at++) output[offset + at] = source[at] ^ mask[at & 3];
}

function wordFrom(mask: Uint8Array, first: number): number {
  for (let at = 0; at < KEY_BYTES; at++) keyBytes[at] = mask[first + at & 3];
  return keyWord[0];
}

function requireBytes(name: string, bytes: unknown, least: number): void {
  if (!types.isUint8Array(bytes)) throw nodeError('ERR_INVALID_ARG_TYPE', `The "${name}" argument must be an instance of Uint8Array`, TypeError);
  requireNumber('length', least);
  if (bytes.length < least) throw nodeError('ERR_OUT_OF_RANGE', `The value of "${name}.length" is out of range. It must be >= ${least}. Received ${bytes.length}`, RangeError);
}

function requireNumber(name: string, value: unknown): void {
  if (!Number.isInteger(value) || value as number < 0) throw nodeError('ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be an integer >= 0. Received ${String(value)}`, RangeError);
}
