/**
 * A stream that flows to listeners of 'data', and how bytes get to them without its machinery.
 *
 * `Readable.push` hands a chunk to these listeners at once, too, and then asks for more in a tick of its own. The engine
 * sends more without being asked, so that tick does nothing. Whatever else a program has done with the stream (paused
 * it, piped it, set an encoding, asked for 'readable') shows in its state, and is left to `push`.
 */

import { Readable } from 'node:stream';

/** What is looked at of Node's state of a stream. */
interface State {
  flowing: boolean | null;
  length: number;
  sync: boolean;
  reading: boolean;
  ended: boolean;
  decoder: unknown;
  pipes: unknown[];
  dataEmitted: boolean;
}

/** A stream with its state. */
export interface Flowing {
  readonly _readableState: unknown;
  readonly destroyed: boolean;
  listenerCount(event: string): number;
  emit(event: string, ...args: unknown[]): boolean;
}

/** Node's own `push`: one that stands in its place wants to see each chunk. */
export const { push: stockPush } = Readable.prototype;

/** Hands a chunk to the listeners of 'data'. False: `push` has to do it, and nothing has been done. */
export function emitFlowing(stream: Flowing, chunk: Uint8Array): boolean {
  const state = stream._readableState as State;
  // `reading`: it has asked for bytes and got none since, as after each chunk. `sync`: it is just asking.
  const isWaiting = state.flowing === true && state.reading && !state.sync && state.length === 0 && !state.ended;
  if (!isWaiting || state.decoder != null || state.pipes.length > 0 || stream.destroyed || stream.listenerCount('data') === 0) return false;
  state.dataEmitted = true;
  stream.emit('data', chunk);
  return true;
}
