/** Deadlines that the engine reports; it takes no action of its own. */

import * as layout from '../generated/layout';
import type { Connection } from '../lane/connection';
import { isHeard } from '../node/observation';
import { requestTimedOut } from './client-error';

/** Event `TIMEOUT`. */
export function timedOut(connection: Connection, kind: number): void {
  switch (kind) {
    case layout.TIMEOUT_KIND_REQUEST: return requestTimedOut(connection);
    case layout.TIMEOUT_KIND_HANDSHAKE: return connection.server.provider?.handshakeTimeout(connection);
    default: return inactive(connection);
  }
}

/** Without a socket or a listener that could stop it, there is nothing to ask. */
function inactive(connection: Connection): void {
  const unheard = !connection.hasSocket && connection.current === null && connection.receiving === null
    && !isHeard(connection.server.server, 'timeout');
  if (connection.transport?.timeout) connection.transport.emit('timeout');
  if (unheard) connection.abort();
  else connection.laneSocket.emit('timeout');
}
