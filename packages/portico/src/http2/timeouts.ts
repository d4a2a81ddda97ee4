/** Inactivity timeouts of sessions and streams: `setTimeout` is Node's own of sockets, with its checks and its timer. */

import { Socket } from 'node:net';
import { kTimeout } from './stock';

type WithTimer = Record<symbol, NodeJS.Timeout | null | undefined>;

/** Gives a class the method, which calls `_onTimeout`. */
export function defineTimeout(prototype: object): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method
  Object.defineProperty(prototype, 'setTimeout', { value: Socket.prototype.setTimeout, writable: true, enumerable: true, configurable: true });
}

/** Something has been read or sent. */
export function refreshTimeout(owner: object): void {
  (owner as WithTimer)[kTimeout]?.refresh();
}

/** The end of a session or stream. */
export function stopTimeout(owner: object): void {
  clearTimeout((owner as WithTimer)[kTimeout] ?? undefined);
  (owner as WithTimer)[kTimeout] = null;
}
