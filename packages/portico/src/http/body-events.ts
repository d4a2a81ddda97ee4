/** Bodies of requests as the engine tells of them: their parts and their ends, into `body.ts`. */

import { EventEnd, Field, RecordHead, REQUEST_FLAG_CHUNKED } from '../generated/layout';
import type { Slab } from '../lane/slab';
import { drainTicks } from '../lane/ticks';
import { complete, deliver } from './body';
import { callbackFailed } from './client-error';
import type { Exchange } from './exchange';
import { readRaw } from './headers';
import type { Pipeline } from './pipeline';
import { receiveTrailers } from './request-fields';
import { beginUpgraded } from './upgrade';

/**
 * Part of the body of request `sequence`. Ticks run before anything that follows it, the end of the request included, as
 * they do in Node: what throws in one of them fails the part.
 */
export function receiveChunk(pipeline: Pipeline, sequence: number, chunk: Buffer, isLast: boolean): void {
  const { connection, connection: { lane, resource } } = pipeline;
  pipeline.heardWake = lane.wake;
  if (connection.tapped) connection.show(chunk);
  if (pipeline.failedIn !== null) return callbackFailed(pipeline, chunk, isOfFailedBody(pipeline, sequence));
  pipeline.failedIn = 'HPE_JS_EXCEPTION';
  if (isLast) pipeline.bodyHeard = true;
  resource.runInAsyncScope(receiveBody, undefined, pipeline, sequence, chunk);
  if (!drainTicks()) {
    lane.resumed = true;
    return;
  }
  pipeline.failedIn = null;
  if (isLast) resource.runInAsyncScope(completeBody, undefined, pipeline, sequence);
}

/** Whether a part comes behind one of the same body that failed: with a known length, each part is a read of its own. */
function isOfFailedBody({ failedIn, receiving }: Pipeline, sequence: number): boolean {
  return failedIn === 'HPE_JS_EXCEPTION' && receiving?.sequence === sequence && (receiving.flags & REQUEST_FLAG_CHUNKED) === 0;
}

function receiveBody({ receiving, connection }: Pipeline, sequence: number, chunk: Buffer): void {
  if (receiving === null || receiving.sequence !== sequence || connection.destroying) return;
  if (chunk.byteLength > 0) deliver(receiving, chunk);
}

/** The body of request `sequence` had no more than that, and no trailers. */
function completeBody({ receiving, connection }: Pipeline, sequence: number): void {
  if (receiving === null || receiving.sequence !== sequence) return;
  if (connection.destroying) completeDestroyed(receiving);
  else completeArrived(receiving);
}

/** The end of the body, with trailers perhaps. In a read of its own, perhaps: then nothing else was left to fail. */
export function receiveEnd(pipeline: Pipeline, at: number): void {
  const { receiving, connection: { lane, lane: { slab }, destroying } } = pipeline;
  pipeline.heardWake = lane.wake;
  if (pipeline.failedIn !== null) return callbackFailed(pipeline, endBytes(slab, at));
  if (receiving === null || receiving.sequence !== slab.words[at + EventEnd.SEQUENCE]) return;
  if (destroying) return completeDestroyed(receiving);
  if (slab.words[at + EventEnd.FIELD_COUNT] > 0) receiveTrailers(receiving, readTrailers(slab, at));
  completeArrived(receiving);
}

/** A body has come to its end, and with it perhaps what the connection becomes behind it. */
function completeArrived(exchange: Exchange): void {
  const { pipeline } = exchange;
  complete(exchange);
  if (pipeline.upgrading !== null) beginUpgraded(pipeline, pipeline.upgrading);
}

/**
 * The end of a body whose connection the program has destroyed meanwhile. It came with what had been read, and Node's parser
 * goes to the end of that: the request is complete, unless the program has been told that it is not.
 */
function completeDestroyed(exchange: Exchange): void {
  if (!exchange.request.aborted) exchange.complete = true;
}

/** The last chunk of a body with its trailers, as a client writes them: how they were written is not told. */
function endBytes(slab: Slab, at: number): Buffer {
  const lines = readTrailers(slab, at).map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
  return Buffer.from(`0\r\n${lines.join('')}\r\n`, 'latin1');
}

/** Names and values of an `END`'s fields, alternating. */
function readTrailers({ words, bytes }: Slab, at: number): string[] {
  const count = words[at + EventEnd.FIELD_COUNT];
  const base = EventEnd.BYTES + count * Field.BYTES;
  const start = at << 2;
  const text = bytes.latin1Slice(start + base, start + words[at + RecordHead.SIZE]);
  return readRaw({ words, at: at + EventEnd.WORDS, count, text, base });
}
