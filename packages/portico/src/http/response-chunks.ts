/** Chunks of a body: what may be written, and in what form. */

import { Buffer } from 'node:buffer';
import process = require('node:process');
import type { Chunk } from '../lane/writer';
import { bodyNotAllowed, unknownEncoding } from './errors';
import type { Callback, Exchange } from './exchange';
import type { Response } from './server-response';
import { stockResponse } from './stock';
import { callStock } from '../node/stack';

type Stock = Record<string, (this: unknown, ...args: unknown[]) => unknown>;
const stock = stockResponse as Stock;

/** Whether a chunk is bytes, of whatever realm. */
export function isBytes(chunk: unknown): chunk is Uint8Array {
  return chunk instanceof Uint8Array || Object.prototype.toString.call(chunk) === '[object Uint8Array]';
}

/** The chunk, if it is text or bytes; else throws `ERR_INVALID_ARG_TYPE`. */
export function checkedChunk(chunk: unknown): Chunk {
  if (typeof chunk === 'string' || isBytes(chunk)) return chunk;
  return rejectChunk(chunk);
}

/** Node's own words for a chunk of the wrong type. */
export function rejectChunk(chunk: unknown): never {
  callStock(() => stock.write.call({ finished: false }, chunk));
  throw new TypeError('Invalid chunk');
}

/** Throws `ERR_UNKNOWN_ENCODING` for text in an encoding that Node doesn't know. */
export function checkEncoding(chunk: Chunk, encoding: unknown): void {
  if (typeof chunk === 'string' && encoding && !Buffer.isEncoding(encoding as string)) throw unknownEncoding(encoding as string);
}

/** False: this kind of response has no body, and what is written is dropped. */
export function mayHaveBody(response: Response, exchange: Exchange): boolean {
  if (response._hasBody) return true;
  if (exchange.connection.server.server.rejectNonStandardBodyWrites === true) throw bodyNotAllowed();
  return false;
}

/** Whether `strictContentLength` applies: the length was announced, and a body of that length is sent. */
export function isStrict(response: Response): boolean {
  return response._contentLength != null && response._hasBody && !response._removedContLen && !response.chunkedEncoding
    && !response.hasHeader('transfer-encoding');
}

/** To the callback and, if the response still lives by then, as 'error'. */
export function reportError(response: Response, error: Error, callback: unknown): void {
  if (response.destroyed) return;
  process.nextTick(() => {
    if (typeof callback === 'function') (callback as Callback)(error);
    if (!response.destroyed) response.emit('error', error);
  });
}
