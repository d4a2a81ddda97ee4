/**
 * What stands at `socket.parser`, where Node has its llhttp binding: the few members that programs look at.
 * The parser itself is in the engine.
 */

import type { LaneSocket } from '../lane/socket';
import type { Pipeline } from './pipeline';

/** Node's parser object, as far as programs know it. */
export class HTTPParser {
  readonly socket: LaneSocket;
  readonly #pipeline: Pipeline;

  constructor(socket: LaneSocket, pipeline: Pipeline) {
    this.socket = socket;
    this.#pipeline = pipeline;
  }

  /** The request that is arriving, or has arrived and was not read to its end. */
  get incoming(): unknown {
    const { receiving, queue, current } = this.#pipeline;
    const exchange = receiving ?? queue?.at(-1) ?? current;
    return exchange === null || exchange.request.readableEnded ? null : exchange.request;
  }

  /** Called when the connection has gone. */
  free(): void { /* Nothing of its own to free. */ }

  close(): void { /* As above. */ }

  remove(): void { /* As above. */ }
}
