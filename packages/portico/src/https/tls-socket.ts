/**
 * `req.socket` of an https connection: the lane's socket with the members of `tls.TLSSocket`.
 *
 * The prototype chain is ours, `tls.TLSSocket.prototype`, `net.Socket.prototype`, so that `instanceof` says what it says
 * in Node. Node's TLSSocket constructor does not run: there is no OpenSSL behind it.
 */

import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import * as tls from 'node:tls';
import { enumerateAsNode } from '../node/enumerability';
import type { Connection } from '../lane/connection';
import { constructSocket, defineSocketMembers, sampleSocket } from '../lane/socket';
import { VERIFY_ERRORS } from '../generated/tls-verify-errors';
import { suiteById } from '../tls/cipher-suites';
import {
  exportKeyingMaterial, finishedMessage, peerFinishedMessage, sharedSignatureAlgorithms, type SignatureSettings,
} from '../tls/keying';
import { detailedObject, legacyObject, readCertificates } from './certificates';
import { unsupportedMethod } from './tls-error';
import type { SecureInfo, TlsConnection } from '../lane/tls-provider';

/** The server's own certificates and trust for one connection, looked up when asked for. */
export interface ConnectionContext {
  /** The server's chain, leaf first, DER; empty if it has none. */
  ownChain(): readonly Uint8Array[];
  /** Certificates that a client's chain may be completed from, DER. */
  authorities(): readonly Uint8Array[];
  /** Which signature schemes are allowed, and whose order counts. */
  signatures(): SignatureSettings;
}

/** What a socket of ours needs besides the lane's part. */
interface State {
  connection: TlsConnection;
  context: ConnectionContext;
}

const states = new WeakMap<object, State>();

/** Makes the socket of a TLS connection. */
export function createTlsSocket(connection: TlsConnection, context: ConnectionContext): Socket {
  const socket = constructSocket(connection as unknown as Connection, TlsConnectionSocket);
  states.set(socket, { connection, context });
  Object.assign(socket, {
    encrypted: true,
    secureConnecting: true,
    _secureEstablished: false,
    servername: null,
    alpnProtocol: null,
    authorized: false,
    authorizationError: null,
    ssl: (socket as { _handle?: unknown })._handle,
  });
  refreshSocket(socket, connection);
  return socket;
}

/** Sets the properties that the handshake's end decides. */
export function refreshSocket(socket: Socket, connection: TlsConnection): void {
  const { secure } = connection;
  if (secure === undefined) return;
  Object.assign(socket, {
    secureConnecting: false,
    _secureEstablished: true,
    // Node says false, not undefined, for what was not sent or agreed.
    servername: secure.servername === '' ? false : secure.servername,
    alpnProtocol: secure.alpnProtocol === '' ? false : secure.alpnProtocol,
    authorized: secure.certificateRequested && secure.verifyError === 0,
    authorizationError: secure.verifyError === 0 ? null : verifyErrorName(secure.verifyError),
  });
}

/** Node's name of a verification result. */
export function verifyErrorName(number: number): string {
  return VERIFY_ERRORS.get(number) ?? 'CERT_REJECTED';
}

function state(socket: object): State {
  const found = states.get(socket);
  if (found === undefined) throw new TypeError('Illegal invocation');
  return found;
}

/** The peer's certificates; parsed at each call, as in Node. */
function peerCertificates(socket: object): X509Certificate[] {
  return readCertificates(state(socket).connection.secure?.peerCertificates ?? []);
}

/** The members of `tls.TLSSocket`. Those that need OpenSSL answer as it does when there is nothing to tell. */
const members = {
  getPeerCertificate(this: Socket, detailed?: boolean): object {
    const chain = peerCertificates(this);
    if (chain.length === 0) return {};
    if (detailed !== true) return legacyObject(chain[0]);
    const { context } = state(this);
    let known: X509Certificate[] | undefined;
    return detailedObject(chain, () => known ??= readCertificates(context.authorities()));
  },

  getPeerX509Certificate(this: Socket): X509Certificate | undefined {
    return peerCertificates(this).at(0);
  },

  getCertificate(this: Socket): object {
    const [leaf] = readCertificates(state(this).context.ownChain().slice(0, 1));
    return leaf === undefined ? {} : legacyObject(leaf);
  },

  getX509Certificate(this: Socket): X509Certificate | undefined {
    return readCertificates(state(this).context.ownChain().slice(0, 1)).at(0);
  },

  getCipher(this: Socket): object | null {
    const { secure } = state(this).connection;
    const suite = secure === undefined ? undefined : suiteById(secure.cipherSuite);
    if (suite === undefined) return null;
    return { name: suite.name, standardName: suite.standardName, version: suite.version };
  },

  getProtocol(this: Socket): string | null {
    const { secure } = state(this).connection;
    if (secure === undefined) return null;
    return secure.protocol === 0x0304 ? 'TLSv1.3' : 'TLSv1.2';
  },

  isSessionReused(this: Socket): boolean {
    return state(this).connection.secure?.resumed ?? false;
  },

  /** As in Node, where a server's socket has none to tell. */
  getEphemeralKeyInfo(): null {
    return null;
  },

  getSharedSigalgs(this: Socket): string[] {
    const { connection: { secure }, context } = state(this);
    return secure === undefined ? [] : sharedSignatureAlgorithms(secure, context.signatures());
  },

  getFinished(this: Socket): Buffer | undefined {
    const { secure } = state(this).connection;
    return secure === undefined ? undefined : finishedMessage(secure);
  },

  getPeerFinished(this: Socket): Buffer | undefined {
    const { secure } = state(this).connection;
    return secure === undefined ? undefined : peerFinishedMessage(secure);
  },

  getSession(): undefined {
    return undefined;
  },

  /** As in Node, where only a client has one. */
  getTLSTicket(): undefined {
    return undefined;
  },

  /** Node's own method checks the arguments; what it calls on its handle is here. */
  exportKeyingMaterial(this: Socket, ...args: unknown[]): Buffer {
    const { secure } = state(this).connection;
    const handle = {
      exportKeyingMaterial(length: number, label: string, context?: Uint8Array): Buffer {
        return exportKeyingMaterial(secure as SecureInfo, length, label, context);
      },
    };
    return Reflect.apply(tls.TLSSocket.prototype.exportKeyingMaterial as (...args: unknown[]) => Buffer,
      { _secureEstablished: secure !== undefined, _handle: handle }, args);
  },

  setKeyCert(): never {
    throw unsupportedMethod('setKeyCert', 'Choose the certificate in SNICallback or by addContext.');
  },

  enableTrace(): never {
    throw unsupportedMethod('enableTrace', "Use the server's 'keylog' event with Wireshark.");
  },

  /** Portico never renegotiates; TLS 1.3 has no such thing, and Node's clients don't start it. */
  renegotiate(_options: unknown, callback?: (error: Error | null) => void): boolean {
    if (callback !== undefined) {
      process.nextTick(callback, unsupportedMethod('renegotiate', 'Ask for the certificate in the first handshake.'));
    }
    return false;
  },

  disableRenegotiation(): void {
    // It always is.
  },

  /** False: not set. The engine chooses the size of records. */
  setMaxSendFragment(): boolean {
    return false;
  },
};

/** Only for its prototype, whose `constructor` stays `tls.TLSSocket`. */
const TlsConnectionSocket = class TLSSocket extends tls.TLSSocket {};
Reflect.deleteProperty(TlsConnectionSocket.prototype, 'constructor');
defineSocketMembers(TlsConnectionSocket.prototype);
for (const [name, value] of Object.entries(members)) {
  Object.defineProperty(TlsConnectionSocket.prototype, name, { value, writable: true, configurable: true });
}
enumerateAsNode(TlsConnectionSocket.prototype, tls.TLSSocket.prototype, sampleSocket);
