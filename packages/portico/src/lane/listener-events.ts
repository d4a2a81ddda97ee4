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

/** No descriptor or no memory is left: what clients can bring about, and what passes. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/**
 * accept(2) failed; it goes on after a pause. A shortage is no 'error': Node tells of none for want of descriptors, and an
 * 'error' to which a program does not listen would have ended it.
 */
export function acceptFailed(lane: Lane, at: number): void {
  const { words } = lane.slab;
  const server = lane.servers.get(words[at + EventAcceptError.LISTENER]);
  const errno = -Math.abs(words[at + EventAcceptError.ERRNO]);
  const code = getSystemErrorName(errno);
  if (SHORTAGES.has(code)) return;
  server?.server.emit('error', Object.assign(new Error(`accept ${code}`), { errno, code, syscall: 'accept' }));
}
