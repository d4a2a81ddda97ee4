/** Servers that Node's own stack serves. */

import process = require('node:process');
import type { AttachedServer } from './attached-server';

const told = new Set<string>();

/** Leaves a server to Node, and says why, once for each reason. It must not listen on the engine. */
export function leaveToNode(attached: AttachedServer, reason: string): void {
  attached.stockReason = reason;
  if (told.has(reason)) return;
  told.add(reason);
  process.emitWarning(reason, { type: 'PorticoWarning', code: 'PORTICO_STOCK_SERVER' });
}

/** The reason where a program handles its connections itself. */
export const OWN_CONNECTIONS = 'A server whose own listener of \'connection\' or \'secureConnection\' was removed is served by Node itself: '
  + 'whoever takes its place gets sockets, not requests.';
