/**
 * A cluster's worker whose servers listen on URL prefixes.
 *
 * The primary owns no socket of such a server: the host does. What programs see of the cluster stays: the primary's
 * 'listening', and a worker that is disconnected closes its servers before its channel to the primary, as Node's
 * workers do (Node's documentation of `worker.disconnect()`).
 */

import cluster = require('node:cluster');
import process = require('node:process');
import type { ServerObject } from '../lane/attached-server';

/** Servers of this worker that listen on a prefix. */
const servers = new Set<ServerObject>();
let disconnectIsOurs = false;

/** Tells the primary that the server listens, and closes the server when the worker is disconnected. */
export function joinCluster(server: ServerObject): void {
  if (!cluster.isWorker || !process.connected) return;
  servers.add(server);
  server.once('close', () => servers.delete(server));
  closeServersBeforeDisconnect();
  const { address, port, family } = server.address() as { address: string; port: number; family: string };
  (cluster.worker as unknown as { state: string }).state = 'listening';
  // The message with which Node's own worker says so.
  process.send?.({ cmd: 'NODE_CLUSTER', act: 'listening', address, port, addressType: family === 'IPv6' ? 6 : 4 });
}

/** Node's worker closes the servers it knows of and then calls `process.disconnect()`; ours are closed there. */
function closeServersBeforeDisconnect(): void {
  if (disconnectIsOurs) return;
  disconnectIsOurs = true;
  const { disconnect } = process;
  process.disconnect = () => {
    process.disconnect = disconnect;
    disconnectIsOurs = false;
    const { worker } = cluster as unknown as { worker: { exitedAfterDisconnect?: boolean; state?: string } };
    // `worker.kill()` does not wait, and neither does a program that lets go of its primary by itself.
    if (worker.exitedAfterDisconnect !== true || worker.state === 'destroying') return disconnect?.call(process);
    const closing = [...servers];
    let left = closing.length;
    const closed = (): void => {
      if (--left === 0 && process.connected) disconnect?.call(process);
    };
    if (left === 0) return disconnect?.call(process);
    for (const server of closing) server.close(closed);
  };
}
