/**
 * What happens on a server's connections before they are secure: the questions of `SNICallback` and `ALPNCallback`, and
 * the ways in which a handshake fails, which all end in 'tlsClientError'.
 */

import type { Socket } from 'node:net';
import { isHeard } from '../node/observation';
import type { TlsConnection } from '../lane/tls-provider';
import {
  alpnResultError, engineError, handshakeTimeoutError, hangUpError, invalidContextError, multipleCallbackError,
} from './tls-error';
import type { HandshakeOptions, TlsServerObject } from './tls-server';

type SniCallback = NonNullable<HandshakeOptions['SNICallback']>;
type AlpnCallback = (this: Socket, offer: { servername: string; protocols: string[] }) => string | undefined;

export class TlsHandshakes {
  readonly #server: TlsServerObject;
  /** Connections whose failure has been told: each is told once. */
  readonly #told = new WeakSet<TlsConnection>();

  constructor(server: TlsServerObject) {
    this.#server = server;
  }

  /** Whether a listener of the program's hears of failures. */
  get areHeard(): boolean {
    return isHeard(this.#server, 'tlsClientError', 1) || isHeard(this.#server, 'clientError');
  }

  /** Asks the program for the context of a name; `answer` gets it, or undefined for the server's own. */
  askServerName(connection: TlsConnection, servername: string, callback: SniCallback,
    answer: (context: object | undefined) => void): void {
    let called = false;
    const done = (error: Error | null, context?: object): void => {
      if (called) return this.#fail(connection, multipleCallbackError());
      called = true;
      if (error) return this.#fail(connection, error);
      if (context !== undefined && context !== null && typeof context !== 'object') {
        return this.#fail(connection, invalidContextError());
      }
      return this.#guard(connection, () => answer(context ?? undefined));
    };
    this.#guard(connection, () => Reflect.apply(callback, connection.socket, [servername, done]));
  }

  /** Asks the program for the protocol; its answer must be one of those offered, or undefined to refuse. */
  askAlpn(connection: TlsConnection, servername: string, protocols: string[], callback: unknown): void {
    this.#guard(connection, () => {
      const chosen = Reflect.apply(callback as AlpnCallback, connection.socket, [{ servername, protocols }]);
      if (chosen !== undefined && !protocols.includes(chosen)) throw alpnResultError(chosen, protocols);
      connection.answerAlpn(chosen);
    });
  }

  /** The engine ended the handshake: "CODE message". */
  failed(connection: TlsConnection, text: string): void {
    this.#tell(connection, () => engineError(text));
  }

  timedOut(connection: TlsConnection): void {
    this.#tell(connection, handshakeTimeoutError);
  }

  /** The client left. It is told of like a failure, as in Node. */
  closedEarly(connection: TlsConnection): void {
    this.#tell(connection, hangUpError);
  }

  /** What the program throws in a callback, and what its context can't do, ends this handshake and nothing else. */
  #guard(connection: TlsConnection, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#fail(connection, error as Error);
    }
  }

  #fail(connection: TlsConnection, error: Error): void {
    this.#tell(connection, () => error);
  }

  #tell(connection: TlsConnection, error: () => Error): void {
    if (this.#told.has(connection)) return;
    this.#told.add(connection);
    // Without a listener the program would not see the socket: it is not made then.
    if (this.areHeard) {
      this.#server.emit('tlsClientError', error(), connection.socket);
    }
    connection.destroy();
  }
}
