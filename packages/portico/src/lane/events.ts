/**
 * Dispatches a batch of events, in order.
 *
 * The cursor in the shared words moves past a record before anything of the program's runs: if it throws, the add-on
 * reports the exception and calls again from the cursor, so one bad handler costs no other request. Ticks and
 * microtasks run between events of different connections, as they do between reads in Node; pipelined requests of one
 * connection follow each other without, also as in Node. A read whose events do not fit into one slab comes in several
 * batches, between which the add-on runs no ticks.
 */

import net = require('node:net');
import * as layout from '../generated/layout';
import { hasPatchedEmit, isHeard } from '../node/observation';
import { Connection } from './connection';
import { closed, peerEndedTunnel } from './connection-end';
import type { Lane } from './lane';
import { acceptFailed, dropped } from './listener-events';
import { flagsOf, takeBytes } from './slab';
import { receive } from './socket';
import { createTransportSocket } from './transport-socket';
import { drainTicks } from './ticks';
import * as tls from './tls-events';

/** Index in the shared words of the cursor. */
const CURSOR = 1;

/** Handles the events from byte `start` to `end` of the current slab. */
export function dispatchEvents(lane: Lane, start: number, end: number): void {
  const { state, slab: { words } } = lane;
  lane.turn++;
  lane.resumed = end === lane.batchEnd;
  lane.batchEnd = end;
  let at = start >> 2;
  let record = -1;
  const last = end >> 2;
  if (lane.filled !== undefined) goOn(lane, lane.filled.words, at);
  lane.lastRecord = -1;
  while (at < last) {
    const next = at + (words[at + layout.RecordHead.SIZE] >> 2);
    state[CURSOR] = next << 2;
    const token = words[at + layout.RecordHead.TOKEN];
    const kind = words[at + layout.RecordHead.KIND] & layout.RecordHead.KIND_MASK;
    if (kind === layout.EVENT_BODY) {
      receiveBody(lane, token, at);
    } else if (kind === layout.EVENT_REQUEST) {
      const connection = lane.connections[token & layout.SLOT_MASK];
      if (connection !== undefined && connection.token === token) connection.protocol.beginRequest(at);
    } else if (kind === layout.EVENT_RAW) {
      receiveRaw(lane, token, at);
    } else {
      dispatchOther(lane, kind, token, at);
    }
    if (next < last && kind !== layout.EVENT_OPEN && !isSameRead(token, kind, words, next)) drainTicks();
    record = at;
    at = next;
  }
  lane.lastRecord = record;
}

/** The batch before filled its slab: what is between two events of a batch comes now. */
function goOn(lane: Lane, words: Int32Array, next: number): void {
  const { lastRecord, slab } = lane;
  lane.filled = undefined;
  const kind = words[lastRecord + layout.RecordHead.KIND] & layout.RecordHead.KIND_MASK;
  if (lastRecord < 0 || !isSameRead(words[lastRecord + layout.RecordHead.TOKEN], kind, slab.words, next)) drainTicks();
}

/** Whether Node's parser would have told both events without leaving for the event loop between them. */
function isSameRead(token: number, kind: number, words: Int32Array, next: number): boolean {
  if (words[next + layout.RecordHead.TOKEN] !== token || !isParsed(kind)) return false;
  const nextKind = words[next + layout.RecordHead.KIND] & layout.RecordHead.KIND_MASK;
  // What follows a body behind which the connection was taken over is told with the body's end.
  return isParsed(nextKind) || nextKind === layout.EVENT_RAW;
}

function isParsed(kind: number): boolean {
  return kind === layout.EVENT_REQUEST || kind === layout.EVENT_BODY || kind === layout.EVENT_END;
}

function receiveBody(lane: Lane, token: number, at: number): void {
  const { slab, slab: { words } } = lane;
  const connection = lane.connection(token);
  if (connection === undefined) return;
  const chunk = takeBytes(slab, (at << 2) + words[at + layout.EventBody.BYTES_OFFSET], words[at + layout.EventBody.BYTES_LENGTH]);
  connection.protocol.receiveBody(words[at + layout.EventBody.SEQUENCE], chunk, (flagsOf(words, at) & layout.BODY_FLAG_LAST) !== 0);
}

function dispatchOther(lane: Lane, kind: number, token: number, at: number): void {
  if (kind === layout.EVENT_OPEN) {
    opened(lane, token, at);
    return;
  }
  if (kind === layout.EVENT_DROPPED) return dropped(lane, at);
  if (kind === layout.EVENT_ACCEPT_ERROR) return acceptFailed(lane, at);
  if (kind === layout.EVENT_DRAINED) {
    return lane.servers.get(lane.slab.words[at + layout.EventDrained.LISTENER])?.connectionGone();
  }
  const connection = lane.connections[token & layout.SLOT_MASK];
  if (connection === undefined || connection.token !== token) {
    // A handshake that fails before the program knew of the connection.
    if (kind === layout.EVENT_TLS_ERROR) tls.unknownConnectionFailed(lane, at);
    return;
  }
  connection.resource.runInAsyncScope(dispatchScoped, undefined, connection, kind, at);
}

/** Events that run in their connection's scope. */
function dispatchScoped(connection: Connection, kind: number, at: number): void {
  const { protocol, lane: { slab: { words } } } = connection;
  switch (kind) {
    case layout.EVENT_END: return protocol.endBody(at);
    case layout.EVENT_FLUSHED: return receiveFlushed(connection, at);
    case layout.EVENT_CLOSED: return closed(connection, at);
    case layout.EVENT_RESET: return protocol.reset(words[at + layout.EventReset.SEQUENCE], words[at + layout.EventReset.CODE]);
    case layout.EVENT_SESSION: return protocol.sessionEvent?.(at);
    case layout.EVENT_PEER_END: return peerEnded(connection, flagsOf(words, at));
    case layout.EVENT_CLIENT_ERROR: return protocol.clientError(at);
    case layout.EVENT_TIMEOUT: return timedOut(connection, words[at + layout.EventTimeout.DEADLINE]);
    default: return tls.dispatchTls(connection, kind, at);
  }
}

function opened(lane: Lane, token: number, at: number): void {
  const server = lane.servers.get(lane.slab.words[at + layout.EventOpen.LISTENER]);
  if (server === undefined) return;
  const connection = Connection.opened(lane, server, at);
  lane.connections[token & layout.SLOT_MASK] = connection;
  if (isHeard(server.server, 'connection', 1)) {
    connection.resource.runInAsyncScope(announce, undefined, connection);
    // An `emit` that was replaced while the server listens: from now on connections are announced at once.
    if (!server.announced) server.scheduleUpdate();
  } else if (hasPatchedEmit(net.Socket.prototype)) {
    void connection.socket;
  }
  if (server.welcome !== undefined && server.provider === undefined) connection.resource.runInAsyncScope(welcome, undefined, connection);
}

/** Tells a server that wants to know that a connection can be used. */
function welcome(connection: Connection): void {
  connection.server.welcome?.(connection);
}

function announce(connection: Connection): void {
  const { server, provider } = connection.server;
  const socket = provider === undefined ? connection.socket : connection.transport = createTransportSocket(connection);
  server.emit('connection', socket);
}

function receiveFlushed({ protocol, lane: { slab: { words } } }: Connection, at: number): void {
  const count = words[at + layout.EventFlushed.COUNT];
  const queued = words[at + layout.EventFlushed.QUEUED_BYTES];
  if ((flagsOf(words, at) & layout.FLUSHED_FLAG_NAMED) === 0) protocol.flushed(count, queued);
  else protocol.flushedOf(words[at + layout.EventFlushed.SEQUENCE], count, queued);
}

function peerEnded(connection: Connection, flags: number): void {
  if ((flags & layout.PEER_END_FLAG_UNREAD) !== 0) connection.protocol.unreadEnd();
  else if (connection.tunnel) peerEndedTunnel(connection);
  else connection.protocol.peerEnded();
}

/** Bytes of a tunnel. */
function receiveRaw(lane: Lane, token: number, at: number): void {
  const connection = lane.connection(token);
  if (connection === undefined) return;
  const { slab, slab: { words } } = lane;
  const bytes = takeBytes(slab, (at << 2) + words[at + layout.EventRaw.BYTES_OFFSET], words[at + layout.EventRaw.BYTES_LENGTH]);
  connection.resource.runInAsyncScope(pushRaw, undefined, connection, bytes);
}

function pushRaw(connection: Connection, bytes: Buffer): void {
  if (connection.upgrading) return connection.protocol.receivedSoFar(bytes);
  const socket = connection.laneSocket;
  if (!socket.destroyed && !receive(socket, bytes)) connection.pause();
}

/** A deadline that the engine reports; it takes no action of its own. */
function timedOut(connection: Connection, kind: number): void {
  switch (kind) {
    case layout.TIMEOUT_KIND_REQUEST: return connection.protocol.requestTimedOut();
    case layout.TIMEOUT_KIND_HANDSHAKE: return connection.server.provider?.handshakeTimeout(connection);
    default: return inactive(connection);
  }
}

/** Without a socket or a listener that could stop it, there is nothing to ask. */
export function inactive(connection: Connection): void {
  const { protocol } = connection;
  const unheard = !connection.hasSocket && !protocol.isAnswering && !protocol.isReceiving && !isHeard(connection.server.server, 'timeout');
  if (connection.transport?.timeout) connection.transport.emit('timeout');
  if (unheard) connection.abort();
  else connection.laneSocket.emit('timeout');
}
