/** `Upgrade` and CONNECT: the connection becomes a byte stream, or the request an ordinary one. */

import { EventRequest, REQUEST_FLAG_COMPLETE } from '../generated/layout';
import type { Connection } from '../lane/connection';
import type { Exchange } from './exchange';
import { complete } from './body';
import type { Request } from './incoming-message';
import type { Pipeline } from './pipeline';
import { takeBytes } from '../lane/slab';
import { releaseFromHttp } from './socket-events';
import { readsUpgradeBody } from './stock';
import { upgradeStream } from './stream-upgrade';
import { stopFlow, wantsUpgrade } from './taking-over';
import { UpgradeStream } from './upgrade-stream';

/** A request that becomes a byte stream behind its body. */
export interface Upgrading {
  readonly exchange: Exchange;
  /** What 'upgrade' has been given; null: it has yet to be emitted. */
  stream: UpgradeStream | null;
}

/** Gives the connection to 'upgrade' or 'connect'. False: no listener wants the upgrade, answer the request as usual. */
export function upgrade(exchange: Exchange, request: Request): boolean {
  const { connection, connection: { server: { server } } } = exchange;
  if (connection.isStream) {
    upgradeStream(exchange, request);
    return true;
  }
  const isConnect = exchange.method === 'CONNECT';
  const wanted = isConnect || wantsUpgrade(server, request);
  if (!wanted) {
    request.upgrade = false;
    connection.proceed();
    return false;
  }
  if (readsUpgradeBody && !isConnect && (exchange.flags & REQUEST_FLAG_COMPLETE) === 0) {
    exchange.pipeline.upgrading = { exchange, stream: null };
    exchange.pipeline.bodyBegins(exchange);
    connection.takeOverBehindBody();
    return true;
  }
  const event = isConnect ? 'connect' : 'upgrade';
  if (server.listenerCount(event) === 0) {
    connection.destroy();
    return true;
  }
  const { slab, slab: { words }, at } = exchange;
  const head = takeBytes(slab, (at << 2) + words[at + EventRequest.REST_OFFSET], words[at + EventRequest.REST_LENGTH]);
  connection.takeOver();
  complete(exchange);
  emitWithSocket(connection, event, request, head);
  return true;
}

/** All is told that had been received when the connection was taken over behind a body. `bytes`: what follows the body. */
export function receivedSoFar(pipeline: Pipeline, bytes: Buffer): void {
  const { upgrading, connection, connection: { server: { server } } } = pipeline;
  if (upgrading === null || connection.destroying) return;
  const { exchange, exchange: { request } } = upgrading;
  if (server.listenerCount('upgrade') === 0) {
    connection.destroy();
  } else if (exchange.complete) {
    becomeTunnel(pipeline);
    emitWithSocket(connection, 'upgrade', request, bytes);
  } else {
    const { laneSocket } = connection;
    const stream = new UpgradeStream(laneSocket, request);
    pipeline.upgrading = { exchange, stream };
    stopFlow(laneSocket);
    server.emit('upgrade', request as never, stream, Buffer.alloc(0));
  }
}

/** The body has come behind which the connection is a byte stream: its reader may have been waiting. */
export function beginUpgraded(pipeline: Pipeline, { stream }: Upgrading): void {
  if (stream === null) return;
  const { connection, connection: { laneSocket, server: { server } } } = pipeline;
  becomeTunnel(pipeline);
  releaseFromHttp(laneSocket);
  // Node asks again whether there is a listener: one that was there once has gone.
  if (server.listenerCount('upgrade') === 0) connection.destroy();
  else stream.begin();
}

function becomeTunnel(pipeline: Pipeline): void {
  pipeline.upgrading = null;
  pipeline.connection.becomeTunnel();
}

function emitWithSocket(connection: Connection, event: 'connect' | 'upgrade', request: Request, head: Buffer): void {
  const { laneSocket } = connection;
  releaseFromHttp(laneSocket);
  stopFlow(laneSocket);
  connection.server.server.emit(event, request as never, laneSocket, head);
}
