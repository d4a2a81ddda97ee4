/** Events of a listener that no connection came of. */

import { getSystemErrorName } from 'node:util';
import type { Lane } from './lane';
import { readAddresses } from './addresses';

/** A connection was refused for `maxConnections`. */
export function dropped(lane: Lane, at: number): void {
  const { words } = lane.slab;
  const server = lane.servers.get(words[at + 3]);
  server?.server.emit('drop', readAddresses(words, at + 4));
}

/** accept(2) failed; it goes on after a pause. */
export function acceptFailed(lane: Lane, at: number): void {
  const { words } = lane.slab;
  const server = lane.servers.get(words[at + 3]);
  const errno = -Math.abs(words[at + 4]);
  const code = getSystemErrorName(errno);
  server?.server.emit('error', Object.assign(new Error(`accept ${code}`), { errno, code, syscall: 'accept' }));
}
