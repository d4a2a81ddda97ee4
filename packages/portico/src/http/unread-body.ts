/** Bodies that the program does not read: they end all the same, and who can see that sees it. */

import type { Exchange } from './exchange';
import type { Request } from './incoming-message';
import { hasPatchedEmit } from './observation';

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
