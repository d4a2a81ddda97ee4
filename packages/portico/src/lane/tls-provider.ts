/**
 * What the lane asks of TLS, and what it gives in return.
 *
 * A server whose connections are encrypted carries a `TlsProvider` under the symbol `tlsProvider`; a plain server has
 * none. The lane calls it when it makes a listener and for each TLS event of a connection; it knows nothing else of
 * TLS. `https/` implements it.
 */

import type { Socket } from 'node:net';
import type { Engine, ListenerOptions } from '../native/binding';

/** Key under which an https server keeps its provider: `server[tlsProvider]`. */
export const tlsProvider = Symbol('portico.tls-provider');

/** The part of a listener's options that TLS decides. They come after the lane's own, and replace them. */
export type TlsListenerOptions = Pick<ListenerOptions, 'tls' | 'askServerName' | 'askAlpn' | 'handshakeTimeout'>
  & Partial<Pick<ListenerOptions, 'notifyOpen' | 'protocols'>>;

/** What a `SECURE` event says, decoded by the lane; the byte arrays are copies. */
export interface SecureInfo {
  /** 0x0303 or 0x0304. */
  protocol: number;
  /** IANA number. */
  cipherSuite: number;
  /** 0: no certificate asked for, or verified. Else a number of `generated/tls-verify-errors.ts`. */
  verifyError: number;
  /** IANA number of the key exchange's named group, 0 if there was none. */
  namedGroup: number;
  /** Empty: the client sent no name. */
  servername: string;
  /** Empty: no protocol was agreed. */
  alpnProtocol: string;
  resumed: boolean;
  certificateRequested: boolean;
  /** The client's certificates, leaf first, DER. */
  peerCertificates: Uint8Array[];
  /**
   * The server's Finished message, the client's, the exporter's secret, in TLS 1.2 the random bytes of client and server,
   * and the client's signature schemes: `tls/keying.ts` takes it apart.
   */
  keying: Buffer;
  /** Bytes of a Finished message. */
  finishedLength: number;
  /** Bytes of the exporter's secret. */
  secretLength: number;
}

/** A TLS connection as the lane shows it to the provider. */
export interface TlsConnection {
  /** Set by the lane before `secure` is called; undefined during the handshake. */
  secure: SecureInfo | undefined;
  /** The connection that this is a stream of; else itself. */
  readonly origin: TlsConnection;
  /** The connection's socket, made on first touch by `TlsProvider.createSocket`. */
  readonly socket: Socket;
  /** Whether the socket has been made already. */
  readonly hasSocket: boolean;
  /** Command `SERVER_NAME`: number of the context to use, or -1 to refuse (alert unrecognized_name). */
  answerServerName(context: number): void;
  /** Command `ALPN`: the protocol; undefined to refuse; null to go on without. */
  answerAlpn(protocol: string | undefined | null): void;
  /** Command `DESTROY`, and `CLOSED` with this error when it comes. */
  destroy(error?: Error): void;
}

/** Implemented by `https/`. Every method is called on the event loop, in the scope of the connection. */
export interface TlsProvider {
  /**
   * The listener's TLS options; called just before `Engine.listen` and `Engine.createListener`.
   * When they change later the provider calls the function given to `attached`, and is asked again.
   */
  listenerOptions(engine: Engine): TlsListenerOptions;
  /** The listener has its number. `update` has the engine told of new options. */
  attached(engine: Engine, listener: number, update: () => void): void;
  /** The listener was closed. */
  detached(listener: number): void;
  /**
   * Makes the socket of a connection: the lane's class, constructed by `Reflect.construct` with a prototype that
   * adds what `tls.TLSSocket` has. Called once, when something first touches `TlsConnection.socket`.
   */
  createSocket(connection: TlsConnection): Socket;
  /**
   * Event `SECURE`: emits 'secureConnection'. Returns false if the connection was refused
   * (an unauthorized client): the lane then drops what follows on it.
   */
  secure(connection: TlsConnection): boolean;
  /** Event `SERVER_NAME`. */
  serverName(connection: TlsConnection, servername: string): void;
  /** Event `ALPN`. */
  alpn(connection: TlsConnection, servername: string, protocols: string[]): void;
  /** Event `KEY_LOG`: one line with its line feed. */
  keyLog(connection: TlsConnection, line: Buffer): void;
  /** Event `TLS_ERROR` ("CODE message"): emits 'tlsClientError'. */
  tlsError(connection: TlsConnection, text: string): void;
  /** Event `TIMEOUT` of kind `HANDSHAKE`. */
  handshakeTimeout(connection: TlsConnection): void;
  /** The peer left, or the connection was destroyed, before the handshake's end. */
  closedEarly(connection: TlsConnection): void;
}
