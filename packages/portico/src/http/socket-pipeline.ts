/** From a socket to the requests on it. */

import { kConnection, type LaneSocket } from '../lane/socket';
import type { Pipeline } from './pipeline';

/** A socket of ours, as listeners get it: they are put on sockets of HTTP/1 only. */
export function pipelineOf(socket: Partial<LaneSocket>): Pipeline {
  return (socket as LaneSocket)[kConnection].protocol as unknown as Pipeline;
}
