/**
 * The socket below TLS, which an https server's 'connection' gives: an object of its own, as in Node, where programs keep
 * it beside the `tls.TLSSocket` of 'secureConnection', count it and destroy it.
 *
 * Made only where the program sees that event. Its bytes are the engine's: it has addresses, counters, an end.
 */

import net = require('node:net');
import type { Server, Socket } from 'node:net';
import { enumerateAsNode } from '../node/enumerability';
import { nodeError } from '../node/error';
import type { Connection } from './connection';
import { kConnection, sampleSocket } from './socket';
import { SocketHandle } from './socket-handle';

/** A transport's socket, with what is used of Node's internals. */
interface TransportSocket extends Socket {
  [kConnection]: Connection;
  server: Server;
  timeout?: number;
}

type Callback = (error?: Error | null) => void;

const members = {
  _read(): void { /* The engine reads. */ },

  _writeGeneric(this: TransportSocket, _many: boolean, _data: unknown, _encoding: string, callback: Callback): void {
    callback(nodeError('ERR_PORTICO_TLS_TRANSPORT', 'Nothing can be written below TLS. Write to the socket of \'secureConnection\'.'));
  },

  _final(this: TransportSocket, callback: Callback): void {
    this[kConnection].shutdown(true);
    callback();
  },

  /** The TLS socket goes with what is below it. */
  _destroy(this: TransportSocket, error: Error | null, callback: Callback): void {
    const connection = this[kConnection];
    net.Socket.prototype._destroy.call(this, error, callback);
    connection.existingSocket?.destroy();
  },

  setTimeout(this: TransportSocket, milliseconds: number, callback?: () => void): TransportSocket {
    if (this.destroyed) return this;
    this.timeout = milliseconds;
    if (callback !== undefined && milliseconds === 0) this.removeListener('timeout', callback);
    else if (callback !== undefined) this.once('timeout', callback);
    this[kConnection].setTimeout(milliseconds);
    return this;
  },

  _unrefTimer(): void { /* The engine's own timer counts activity. */ },

  setNoDelay(this: TransportSocket, enable?: boolean): TransportSocket {
    this[kConnection].setOptions(enable === undefined || enable ? 1 : 0, 2, 0);
    return this;
  },

  setKeepAlive(this: TransportSocket, enable?: boolean, initialDelay = 0): TransportSocket {
    this[kConnection].setOptions(2, enable ? 1 : 0, Math.floor(initialDelay / 1000));
    return this;
  },

  resetAndDestroy(this: TransportSocket): TransportSocket {
    this[kConnection].abort(true);
    return this.destroy();
  },
};

const prototype = Object.create(net.Socket.prototype) as object;
for (const [name, value] of Object.entries(members)) {
  Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
}
['bytesRead', 'bytesWritten'].forEach((name, index) => {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: TransportSocket): number { return this[kConnection].traffic()[index]; },
  });
});
enumerateAsNode(prototype, sampleSocket);

function Transport(this: TransportSocket, connection: Connection): void {
  Object.defineProperty(this, kConnection, { value: connection });
  const { server } = connection.server;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a constructor called as a function, as subclasses in Node do.
  (net.Socket as any).call(this, { handle: new SocketHandle(connection), allowHalfOpen: true, manualStart: true });
  this.server = server;
}
Transport.prototype = prototype;

/** Makes the socket below a connection's TLS. Once for each connection. */
export function createTransportSocket(connection: Connection): Socket {
  return connection.resource.runInAsyncScope(() => new (Transport as unknown as new (connection: Connection) => Socket)(connection));
}
