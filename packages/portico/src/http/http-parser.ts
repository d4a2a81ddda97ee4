/**
 * What stands at `socket.parser`, where Node has its llhttp binding: the few members that programs look at.
 * The parser itself is in the engine.
 */

import type { LaneSocket } from '../lane/socket';
import { kConnection } from '../lane/socket';

/** Node's parser object, as far as programs know it. */
export class HTTPParser {
  readonly socket: LaneSocket;

  constructor(socket: LaneSocket) {
    this.socket = socket;
  }

  /** The request that is arriving, or has arrived and was not read to its end. */
  get incoming(): unknown {
    const connection = this.socket[kConnection];
    const exchange = connection.receiving ?? connection.queue?.at(-1) ?? connection.current;
    return exchange === null || exchange.request.readableEnded ? null : exchange.request;
  }

  /** Called when the connection has gone. */
  free(): void { /* Nothing of its own to free. */ }

  close(): void { /* As above. */ }

  remove(): void { /* As above. */ }
}
