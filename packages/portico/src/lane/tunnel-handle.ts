/**
 * A tunnel's socket shows no handle.
 *
 * `tls.TLSSocket` over a `net.Socket` with a handle reaches past the socket for libuv's stream, which a socket of ours
 * has not got; over a stream without a handle it works on the stream's events. So proxies that speak TLS in a CONNECT
 * tunnel work, while Node's own methods of the socket, wrapped here, still see the handle.
 */

import net = require('node:net');

interface HandleOwner {
  _handle: unknown;
}

type Method = (this: object, ...args: unknown[]) => unknown;

/** The methods of `net.Socket` that ask for the handle. */
const METHODS = ['_destroy', 'ref', 'unref', '_getpeername', '_getsockname'] as const;
/** Likewise its accessors. */
const ACCESSORS = ['pending'] as const;

const stock = net.Socket.prototype as unknown as Record<string, Method>;

/** Sockets inside one of their own methods. */
const revealed = new WeakSet<object>();

function reveal<Result>(socket: object, action: () => Result): Result {
  if (revealed.has(socket)) return action();
  revealed.add(socket);
  try {
    return action();
  } finally {
    revealed.delete(socket);
  }
}

/**
 * Defines `_server`, the server that a connection came to, which Node's `_destroy` must not count down: the engine's side
 * of the server counts.
 */
export function defineServer(prototype: object, serverOf: (socket: object) => unknown): void {
  Object.defineProperty(prototype, '_server', {
    configurable: true,
    enumerable: true,
    get(this: object): unknown { return revealed.has(this) ? null : serverOf(this); },
    set(this: object, value: unknown): void {
      // Node's constructor says that there is none.
      if (value !== null) Object.defineProperty(this, '_server', { value, writable: true, configurable: true, enumerable: true });
    },
  });
}

/**
 * Defines `_handle` and what depends on it.
 *
 * @param isTunnel whether a socket is one that shows no handle
 */
export function hideTunnelHandle(prototype: object, isTunnel: (socket: object) => boolean): void {
  const handle = descriptor('_handle');
  Object.defineProperty(prototype, '_handle', {
    configurable: true,
    get(this: object): unknown {
      const value: unknown = handle.get?.call(this);
      return value !== null && isTunnel(this) && !revealed.has(this) ? null : value;
    },
    set(this: HandleOwner, value: unknown): void { handle.set?.call(this, value); },
  });
  for (const name of METHODS) {
    Object.defineProperty(prototype, name, {
      value: function method(this: object, ...args: unknown[]): unknown {
        return reveal(this, () => Reflect.apply(stock[name], this, args));
      },
      writable: true, configurable: true,
    });
  }
  for (const name of ACCESSORS) {
    const { get } = descriptor(name);
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: object): unknown { return reveal(this, () => get?.call(this) as unknown); },
    });
  }
}

function descriptor(name: string): PropertyDescriptor {
  return Object.getOwnPropertyDescriptor(net.Socket.prototype, name) ?? {};
}
