/** Events of a listener that no connection came of. */

import { getSystemErrorName } from 'node:util';
import type { Lane } from './lane';
import { EventAcceptError, EventDropped } from '../generated/layout';
import { readAddresses } from './addresses';

/** A connection was refused for `maxConnections`. */
export function dropped(lane: Lane, at: number): void {
  const { words } = lane.slab;
  const server = lane.servers.get(words[at + EventDropped.LISTENER]);
  server?.server.emit('drop', readAddresses(words, at + EventDropped.ENDPOINTS));
}

/** accept(2) failed; it goes on after a pause. */
export function acceptFailed(lane: Lane, at: number): void {
  const { words } = lane.slab;
  const server = lane.servers.get(words[at + EventAcceptError.LISTENER]);
  const errno = -Math.abs(words[at + EventAcceptError.ERRNO]);
  const code = getSystemErrorName(errno);
  server?.server.emit('error', Object.assign(new Error(`accept ${code}`), { errno, code, syscall: 'accept' }));
}
