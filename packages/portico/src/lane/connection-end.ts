/** The end of connections: what their sockets, and who waits for a write, are told. */

import { constants } from 'node:os';
import process = require('node:process');
import { getSystemErrorName } from 'node:util';
import * as layout from '../generated/layout';
import { isHeard } from '../node/observation';
import type { Connection } from './connection';
import { readLong } from './slab';
import type { LaneSocket } from './socket';

/** Number of the error that a lost connection ends with. */
const { ECONNRESET } = constants.errno;

/** Event `CLOSED`. */
export function closed(connection: Connection, at: number): void {
  const { lane, lane: { slab: { words } } } = connection;
  lane.connections[connection.token & layout.SLOT_MASK] = undefined;
  connection.errno = words[at + layout.EventClosed.ERRNO];
  connection.close();
  connection.bytesRead = readLong(words, at + layout.EventClosed.BYTES_READ_LOW);
  connection.bytesWritten = readLong(words, at + layout.EventClosed.BYTES_WRITTEN_LOW);
  connectionLost(connection);
}

/** A connection whose engine is lost: for the program it was reset. */
export function loseConnection(connection: Connection): void {
  connection.lane.connections[connection.token & layout.SLOT_MASK] = undefined;
  connection.closed = true;
  connection.errno = ECONNRESET;
  connection.resource.runInAsyncScope(connectionLost, undefined, connection);
}

/** Event `PEER_END` of a tunnel. */
export function peerEndedTunnel(connection: Connection): void {
  // A descriptor that the program no longer reads does not keep a process alive in Node either.
  connection.lane.engine.setConnectionRef(connection.token, false);
  endReadable(connection.laneSocket);
}

/** Nothing more will come: 'end', behind what is still to be read. */
export function endReadable(socket: LaneSocket): void {
  if (socket._readableState.ended || socket.destroyed) return;
  socket.push(null);
  if (socket.readableLength === 0) socket.read(0);
}

/** The connection is gone: everybody who could notice is told, its server last. */
function connectionLost(connection: Connection): void {
  const { existingSocket } = connection;
  if (connection.errno === 0 && !connection.destroying && connection.protocol.finishNext()) {
    // Its 'close' comes before anything that follows.
    process.nextTick(connectionLost, connection);
    return;
  }
  failAcks(connection);
  connection.transport?.destroy();
  if (existingSocket === null && !isReported(connection)) connection.protocol.abandon();
  else if (!connection.laneSocket.destroyed) endSocket(connection);
  connection.runCloseCallbacks();
  if (connection.server.provider !== undefined && connection.secure === undefined) connection.server.provider.closedEarly(connection);
  connection.resource.emitDestroy();
  connection.server.connectionGone();
}

/** A stream is over, by its end or before it; its connection may go on. */
export function streamGone(stream: Connection): void {
  if (stream.closed) return;
  stream.close();
  failAcks(stream);
  const { existingSocket } = stream;
  if (existingSocket === null) stream.protocol.abandon();
  else if (!existingSocket.destroyed) endSocket(stream);
  stream.runCloseCallbacks();
  stream.resource.emitDestroy();
}

/** Whether a reset of a connection whose socket the program does not hold can be seen all the same. */
function isReported(connection: Connection): boolean {
  return connection.errno !== 0 && !connection.tunnel && (connection.protocol.isAnswering || isHeard(connection.server.server, 'clientError'));
}

/** The engine let the connection go by itself: an orderly end, or the peer's reset. */
function endSocket(connection: Connection): void {
  const socket = connection.laneSocket;
  if (connection.errno !== 0) {
    socket.destroy(systemError(connection.errno));
    return;
  }
  if (connection.tunnel && !socket.readableEnded) {
    socket.push(null);
    if (socket.readableLength > 0) {
      // What has arrived is still to be read; the stream destroys itself after its end.
      socket.once('end', () => socket.destroy());
      return;
    }
  }
  if (!connection.ending) endReadable(socket);
  socket.destroySoon();
}

function systemError(errno: number): Error {
  const name = getSystemErrorName(-Math.abs(errno));
  return Object.assign(new Error(`read ${name}`), { errno: -Math.abs(errno), code: name, syscall: 'read' });
}

/** Writes whose bytes were lost with the connection. */
function failAcks(connection: Connection): void {
  const waiting = connection.takeWaitingWrites();
  if (waiting.length === 0) return;
  const error = Object.assign(new Error('write ECONNRESET'), { code: 'ECONNRESET', errno: -104, syscall: 'write' });
  for (const { acknowledged } of waiting) acknowledged?.(connection.errno === 0 ? null : error);
}
