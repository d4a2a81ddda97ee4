/**
 * `req.socket`: a real `net.Socket` (or `tls.TLSSocket`) whose transport is the engine.
 *
 * Node's own constructor, stream machinery, `destroy` and getters run on it; below them a handle of ours and the few
 * methods that move bytes. Made on first touch, since most requests never ask for it.
 *
 * While the engine parses HTTP, the readable side is silent and writes go straight out, as in Node. In a tunnel it is
 * an ordinary byte stream with back-pressure in both directions.
 */

import net = require('node:net');
import type { Server, Socket } from 'node:net';
import { carryOver } from '../node/carry-over';
import { enumerateAsNode } from '../node/enumerability';
import type { Connection } from './connection';
import { emitFlowing } from './flowing';
import { socketEncoding } from './errors';
import { SocketHandle } from './socket-handle';
import { toBytes, writeMany, writeOne, writeShared } from './socket-writes';
import { defineServer, hideTunnelHandle } from './tunnel-handle';
import type { WrittenChunk } from './writer';
import { callStock } from '../node/stack';

/** Key of a socket's connection. */
export const kConnection = Symbol('portico.connection');

/** What the lane uses of its sockets beyond the documented. */
export interface LaneSocket extends Socket {
  [kConnection]: Connection;
  server: Server | null;
  parser: { free(): void } | null;
  _httpMessage: unknown;
  _paused: boolean;
  _handle: SocketHandle | null;
  _hadError: boolean;
  allowHalfOpen: boolean;
  _readableState: { ended: boolean; flowing: boolean | null };
  _writableState: { bufferProcessing: boolean; getBuffer(): WrittenChunk[] };
  timeout?: number;
  encrypted?: boolean;
}

type Write = (this: unknown, chunk: unknown, encoding: unknown, callback: unknown) => boolean;
type End = (this: unknown, chunk?: unknown, encoding?: unknown, callback?: unknown) => LaneSocket;
type WriteCallback = (error?: Error | null) => void;

/** Members that make a prototype below `net.Socket.prototype` one of a connection's socket. */
const members = {
  /** The engine reads by itself; a reader who has room again lets it go on. */
  _read(this: LaneSocket): void {
    const connection = this[kConnection];
    if (connection.tunnel) connection.resume();
  },

  _writeGeneric(this: LaneSocket, many: boolean, data: unknown, encoding: string, callback: WriteCallback = ignore): void {
    const connection = this[kConnection];
    if (!this._writableState.bufferProcessing) flushResponse(connection);
    if (connection.closed || connection.destroying) {
      callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE', errno: -32, syscall: 'write' }));
    } else if (connection.isShared) {
      writeShared(connection, many ? data as WrittenChunk[] : [{ chunk: data as string | Uint8Array, encoding: encoding as BufferEncoding }], callback);
    } else if (many) {
      writeMany(connection, data as WrittenChunk[], callback);
    } else {
      writeOne(connection, { chunk: data as string | Uint8Array, encoding: encoding as BufferEncoding }, callback);
    }
  },

  /** To a connection that other servers answer on as well, no bytes go as they are. */
  write(this: LaneSocket, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    const connection = this[kConnection];
    const isBytes = typeof chunk === 'string' || chunk instanceof Uint8Array;
    if (!connection.isShared || !isBytes || this.writableEnded || this.destroyed || connection.destroying) {
      // These may be kept, and are given later: what the response has written before does not wait for that.
      if (this.writableLength > 0 || this.writableCorked > 0) flushResponse(connection);
      return (net.Socket.prototype.write as Write).call(this, chunk, encoding, callback);
    }
    const done = typeof encoding === 'function' ? encoding : callback;
    connection.protocol.writeAnswer(toBytes(chunk, typeof encoding === 'string' ? encoding as BufferEncoding : undefined));
    if (typeof done === 'function') process.nextTick(done as WriteCallback, null);
    return true;
  },

  end(this: LaneSocket, chunk?: unknown, encoding?: unknown, callback?: unknown): LaneSocket {
    const isLast = this[kConnection].isShared && (typeof chunk === 'string' || chunk instanceof Uint8Array);
    if (!isLast) return (net.Socket.prototype.end as End).call(this, chunk, encoding, callback);
    const done = typeof encoding === 'function' ? encoding : callback;
    this.write(chunk, typeof encoding === 'string' ? encoding as BufferEncoding : undefined);
    return (net.Socket.prototype.end as End).call(this, done);
  },

  /** Half-close after all that was written has been sent. */
  _final(this: LaneSocket, callback: WriteCallback): void {
    const connection = this[kConnection];
    if (connection.closed || connection.destroying) {
      callback();
      return;
    }
    connection.protocol.flush();
    if (endsAnswer(connection, callback)) return;
    if (!connection.tunnel && connection.ending && !connection.protocol.isAwaitingEnd) {
      // The engine closes after the last response by itself, unless one before it is not given at all.
      callback();
      return;
    }
    connection.whenWritten(callback);
    connection.ending = connection.ended = true;
    // The peer may go on: with a stream, with a body that is being read.
    connection.shutdown(false);
  },

  /** Bytes that the program puts on the stream while it speaks HTTP are the parser's, as if they had been received. */
  push(this: LaneSocket, chunk: unknown, encoding?: BufferEncoding): boolean {
    const connection = this[kConnection];
    if (connection.tunnel || chunk === null) return net.Socket.prototype.push.call(this, chunk, encoding);
    connection.feed(toBytes(chunk, encoding));
    return true;
  },

  unshift(this: LaneSocket, chunk: unknown, encoding?: BufferEncoding): void {
    const connection = this[kConnection];
    if (connection.tunnel || chunk === null) net.Socket.prototype.unshift.call(this, chunk, encoding);
    else connection.feed(toBytes(chunk, encoding));
  },

  /** While the engine parses, nothing more is read of the client; the next part of a body that is wanted ends it. */
  pause(this: LaneSocket): LaneSocket {
    const connection = this[kConnection];
    if (!connection.tunnel) connection.pause();
    return showPaused(this);
  },

  resume(this: LaneSocket): LaneSocket {
    const connection = this[kConnection];
    if (!connection.tunnel) {
      connection.resume();
      connection.protocol.socketResumed();
    }
    return net.Socket.prototype.resume.call(this) as LaneSocket;
  },

  /** Bytes of HTTP are not text. As in Node, that stays so when the connection is a tunnel. */
  setEncoding(): never {
    throw socketEncoding();
  },

  /** No timer here: activity is known to the engine. */
  setTimeout(this: LaneSocket, milliseconds: number, callback?: () => void): LaneSocket {
    if (this.destroyed) return this;
    this.timeout = milliseconds;
    const duration = timerDuration(milliseconds, callback);
    if (callback !== undefined) {
      if (duration === 0) this.removeListener('timeout', callback);
      else this.once('timeout', callback);
    }
    this[kConnection].setTimeout(duration);
    return this;
  },

  _unrefTimer(): void { /* The engine's own timer counts activity. */ },

  setNoDelay(this: LaneSocket, enable?: boolean): LaneSocket {
    this[kConnection].setOptions(enable === undefined || enable ? 1 : 0, 2, 0);
    return this;
  },

  setKeepAlive(this: LaneSocket, enable?: boolean, initialDelay = 0): LaneSocket {
    this[kConnection].setOptions(2, enable ? 1 : 0, Math.floor(initialDelay / 1000));
    return this;
  },

  resetAndDestroy(this: LaneSocket): LaneSocket {
    const connection = this[kConnection];
    if (!this.destroyed) connection.abort(true);
    this.destroy();
    return this;
  },
};

/**
 * While the engine parses, a listener of 'data' or 'readable' sees what is parsed: heads as received, bodies without
 * chunk framing.
 */
for (const name of ['on', 'addListener', 'prependListener'] as const) {
  Object.assign(members, { [name](this: LaneSocket, event: string, listener: () => void): unknown {
    const connection = this[kConnection];
    if ((event === 'data' || event === 'readable') && !connection.tunnel) connection.tapped = true;
    // `tls.TLSSocket` takes a socket that shows no handle for one that has yet to connect, and waits for this.
    if (event === 'connect' && connection.tunnel) process.nextTick(() => this.emit('connect'));
    return net.Socket.prototype[name].call(this, event, listener);
  } });
}

/** The response whose turn it is, under the name that programs know from Node. */
const httpMessage: PropertyDescriptor = {
  configurable: true,
  get(this: LaneSocket): unknown { return this[kConnection]?.protocol.message ?? null; },
  set(this: LaneSocket, value: unknown): void {
    Object.defineProperty(this, '_httpMessage', { value, writable: true, configurable: true, enumerable: true });
  },
};

/** A counter that stays right after the socket's end: the engine tells the totals last. */
function counter(prototype: object, name: string, index: 0 | 1): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    enumerable: true,
    get(this: LaneSocket): number { return this[kConnection].traffic()[index]; },
  });
}

/** A socket of Node's own that is not used. */
export const sampleSocket = new net.Socket();

/** Gives a prototype (one that inherits from `net.Socket.prototype`) the members of a connection's socket. */
export function defineSocketMembers(prototype: object): void {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
  Object.defineProperty(prototype, '_httpMessage', httpMessage);
  // Node's looks for a handle, which a tunnel does not show.
  Object.defineProperty(prototype, 'bufferSize', {
    configurable: true,
    get(this: LaneSocket): number | undefined { return this.destroyed ? undefined : this.writableLength; },
  });
  counter(prototype, 'bytesRead', 0);
  counter(prototype, 'bytesWritten', 1);
  counter(prototype, '_bytesDispatched', 1);
  defineServer(prototype, (socket) => {
    const { provider, server } = (socket as LaneSocket)[kConnection]?.server ?? {};
    // In Node, that of https is the one of the socket below TLS.
    return provider === undefined ? server ?? null : null;
  });
  hideTunnelHandle(prototype, (socket) => (socket as LaneSocket)[kConnection]?.tunnel ?? false);
  enumerateAsNode(prototype, sampleSocket);
}

/**
 * Makes the socket of a connection, once for each. Runs Node's own constructor.
 *
 * @param kind a class that is not constructed, with a prototype that `defineSocketMembers` has seen. An object of Node's
 *   constructor has room for all its properties: one with less becomes a dictionary on Node 20. With a function in place of
 *   the class each would have a hidden class of its own there.
 */
export function constructSocket(connection: Connection, kind: object): LaneSocket {
  const { server, highWaterMark } = connection.server;
  const socket = Reflect.construct(net.Socket, [{
    handle: new SocketHandle(connection), allowHalfOpen: server.allowHalfOpen, manualStart: true, ...highWaterMarks(highWaterMark),
  }], kind as typeof net.Socket) as LaneSocket;
  // Not enumerable: whoever prints a socket, or compares two in a test, must not walk through the whole engine.
  Object.defineProperty(socket, kConnection, { value: connection });
  connection.adoptSocket(socket);
  socket.server = server;
  socket._paused = false;
  connection.protocol.attachSocket(socket);
  if (connection.timeoutMs > 0) socket.timeout = connection.timeoutMs;
  return socket;
}

/** Only for its prototype, whose `constructor` stays `net.Socket`. */
const PlainSocket = class Socket extends net.Socket {};
Reflect.deleteProperty(PlainSocket.prototype, 'constructor');
defineSocketMembers(PlainSocket.prototype);
carryOver(PlainSocket.prototype, 'net.Socket');

/** Makes a plain socket. */
export function createSocket(connection: Connection): LaneSocket {
  return constructSocket(connection, PlainSocket);
}

/** Pauses the stream, which is all that is seen of a pause. */
export function showPaused(socket: LaneSocket): LaneSocket {
  return net.Socket.prototype.pause.call(socket) as LaneSocket;
}

/** Bytes of a tunnel have come. False: its reader is behind. */
export function receive(socket: LaneSocket, bytes: Buffer): boolean {
  return socket.push === members.push && emitFlowing(socket, bytes) || socket.push(bytes);
}

/** Puts bytes that the engine has parsed on the readable side. */
export function pushReceived(socket: LaneSocket, bytes: Buffer): void {
  net.Socket.prototype.push.call(socket, bytes);
}

/** A socket that goes nowhere, to have Node check arguments and word its errors. */
let probe: Socket | undefined;
const MAX_TIMER_MS = 0x7fffffff;

function timerDuration(milliseconds: number, callback: (() => void) | undefined): number {
  const socket = probe ??= new net.Socket();
  callStock(() => socket.setTimeout(milliseconds, callback));
  socket.setTimeout(0, callback);
  return Math.min(milliseconds, MAX_TIMER_MS);
}

function highWaterMarks(bytes: number | undefined): object {
  return bytes === undefined ? {} : { highWaterMark: bytes };
}

/** What the response has written so far comes before bytes that the program writes to the socket now. */
function flushResponse(connection: Connection): void {
  if (!connection.isShared) connection.protocol.flushWritten();
}

/** Ends what was written past a response, and calls back; false: nothing was. */
function endsAnswer(connection: Connection, callback: WriteCallback): boolean {
  try {
    if (!connection.protocol.endAnswer()) return false;
  } catch (error) {
    callback(error as Error);
    return true;
  }
  connection.ending = connection.ended = true;
  callback();
  return true;
}

function ignore(): void { /* Only the last of several tells. */ }
