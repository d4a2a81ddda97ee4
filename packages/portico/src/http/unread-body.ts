/** Bodies that the program does not read: they end all the same, and who can see that sees it. */

import type { Exchange } from './exchange';
import type { Request } from './incoming-message';
import { hasPatchedEmit } from '../node/observation';

/**
 * Whether the stream has to run though the program does not read it: its events are seen all the same. Makes the stream,
 * which then has what has come.
 */
export function isReadUnasked({ request }: Exchange): boolean {
  return hasPatchedEmit(request) && request._readableState !== undefined;
}

/** What Node does with a body that the program has not begun to read when the response is finished. */
export function dumpUnread(request: Request): void {
  if (!request._consuming && !request._readableState.resumeScheduled) request._dump();
}

/**
 * Whether the program may still read a body that it has begun to read: it flows, or goes to a pipe, an iterator or a
 * listener that has stopped it for now. If not, what has not come yet has no reader. An iterator listens to 'readable', a
 * web stream to 'data'.
 */
export function mayBeRead({ request, unpiped }: Exchange): boolean {
  if (request.destroyed) return false;
  const { flowing, pipes, dataEmitted } = request._readableState;
  if (flowing === true || pipes.length > 0 || request.listenerCount('readable') > 0) return true;
  // One that was stopped before it got anything has not begun; one that the end of a pipe stopped has not asked for it.
  return dataEmitted && !unpiped && request.listenerCount('data') > 0;
}
