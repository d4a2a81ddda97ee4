/** `Upgrade` and CONNECT: the connection becomes a byte stream, or the request an ordinary one. */

import { EventRequest } from '../generated/layout';
import type { Exchange } from './exchange';
import { complete } from './body';
import type { Request } from './incoming-message';
import { takeBytes } from '../lane/slab';
import { releaseFromHttp } from './socket-events';

/** Gives the connection to 'upgrade' or 'connect'. False: no listener wants the upgrade, answer the request as usual. */
export function upgrade(exchange: Exchange, request: Request): boolean {
  const { connection, connection: { server: { server } } } = exchange;
  const isConnect = exchange.method === 'CONNECT';
  const wanted = isConnect || wantsUpgrade(server, request);
  if (!wanted) {
    request.upgrade = false;
    connection.proceed();
    return false;
  }
  const event = isConnect ? 'connect' : 'upgrade';
  if (server.listenerCount(event) === 0) {
    connection.destroy();
    return true;
  }
  const { slab, slab: { words }, at } = exchange;
  const head = takeBytes(slab, (at << 2) + words[at + EventRequest.REST_OFFSET], words[at + EventRequest.REST_LENGTH]);
  connection.takeOver();
  const { laneSocket } = connection;
  releaseFromHttp(laneSocket);
  complete(exchange);
  server.emit(event, request as never, laneSocket, head);
  return true;
}

interface Upgradable {
  listenerCount(event: string): number;
  shouldUpgradeCallback?: (request: unknown) => boolean;
}

function wantsUpgrade(server: Upgradable, request: Request): boolean {
  const { shouldUpgradeCallback } = server;
  // Older versions of Node have no such option, and do what its default does.
  return shouldUpgradeCallback === undefined
    ? server.listenerCount('upgrade') > 0
    : Boolean(shouldUpgradeCallback.call(server, request));
}
