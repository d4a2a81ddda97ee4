/** What connections and streams have in common whose request asks for another protocol. */

import type { Request } from './incoming-message';

/** For its new owner the stream has not begun to flow. */
export function stopFlow(socket: object): void {
  (socket as { readableFlowing: boolean | null }).readableFlowing = null;
}

interface Upgradable {
  listenerCount(event: string): number;
  shouldUpgradeCallback?: (request: unknown) => boolean;
}

/** Whether the server takes the connection of a request over. */
export function wantsUpgrade(server: Upgradable, request: Request): boolean {
  const { shouldUpgradeCallback } = server;
  // Older versions of Node have no such option, and do what its default does.
  return shouldUpgradeCallback === undefined
    ? server.listenerCount('upgrade') > 0
    : Boolean(shouldUpgradeCallback.call(server, request));
}
