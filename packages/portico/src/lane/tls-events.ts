/** Events of TLS connections, decoded for the server's `TlsProvider`. */

import * as layout from '../generated/layout';
import type { SecureInfo } from '../https/provider';
import { Connection } from './connection';
import type { Lane } from './lane';

/** Handles an event that only TLS connections have. */
export function dispatchTls(connection: Connection, kind: number, at: number): void {
  const { provider } = connection.server;
  if (provider === undefined) return;
  const { words } = connection.lane.slab;
  switch (kind) {
    case layout.EVENT_SECURE: return secured(connection, at);
    case layout.EVENT_SERVER_NAME:
      return provider.serverName(connection, text(connection.lane, at, words[at + 4], words[at + 5]));
    case layout.EVENT_ALPN:
      return provider.alpn(connection, text(connection.lane, at, words[at + 4], words[at + 5]),
        protocols(connection.lane, at, words[at + 6], words[at + 7]));
    case layout.EVENT_KEY_LOG:
      return provider.keyLog(connection, copy(connection.lane, at, words[at + 4], words[at + 5]));
    case layout.EVENT_TLS_ERROR:
      return provider.tlsError(connection, text(connection.lane, at, words[at + 4], words[at + 5]));
    default:
  }
}

/** A handshake that failed before the connection was announced: there is a connection object for its report only. */
export function unknownConnectionFailed(lane: Lane, at: number): void {
  const { words } = lane.slab;
  const server = lane.servers.get(words[at + 3]);
  if (server?.provider === undefined) return;
  const connection = Connection.gone(lane, server, words[at + 2]);
  server.provider.tlsError(connection, text(lane, at, words[at + 4], words[at + 5]));
}

function secured(connection: Connection, at: number): void {
  const { lane, lane: { slab: { words } }, server: { provider } } = connection;
  const flags = words[at + 1] >>> 8;
  const peerCertificates = Array.from({ length: words[at + 9] }, (_, index) =>
    copy(lane, at, words[at + 15 + index * 2], words[at + 16 + index * 2]));
  const info: SecureInfo = {
    protocol: words[at + 3] & 0xffff,
    cipherSuite: words[at + 3] >>> 16,
    verifyError: words[at + 4],
    namedGroup: words[at + 10],
    servername: text(lane, at, words[at + 5], words[at + 6]),
    alpnProtocol: text(lane, at, words[at + 7], words[at + 8]),
    resumed: (flags & layout.SECURE_FLAG_RESUMED) !== 0,
    certificateRequested: (flags & layout.SECURE_FLAG_CERTIFICATE_REQUESTED) !== 0,
    peerCertificates,
    keying: keying(lane, at),
    finishedLength: words[at + 12],
    secretLength: words[at + 13],
  };
  connection.secure = info;
  // The program has done away with it meanwhile.
  if (connection.destroying) return;
  if (provider?.secure(connection) === false) connection.destroy();
}

/** What is kept for later questions. The slab is seen by whoever gets a piece of a body: the secret does not stay there. */
function keying(lane: Lane, at: number): Buffer {
  const { bytes, words } = lane.slab;
  const start = (at << 2) + words[at + 11];
  const finished = words[at + 12];
  const secret = words[at + 13];
  const randoms = (words[at + 3] & 0xffff) === 0x0304 ? 0 : 64;
  const kept = Buffer.from(bytes.subarray(start, start + finished * 2 + secret + randoms + words[at + 14] * 2));
  bytes.fill(0, start + finished * 2, start + finished * 2 + secret);
  return kept;
}

function text(lane: Lane, at: number, offset: number, length: number): string {
  const start = (at << 2) + offset;
  return length === 0 ? '' : lane.slab.bytes.latin1Slice(start, start + length);
}

function copy(lane: Lane, at: number, offset: number, length: number): Buffer {
  const start = (at << 2) + offset;
  return Buffer.from(lane.slab.bytes.subarray(start, start + length));
}

/** ALPN's wire format: each name with a length byte before it. */
function protocols(lane: Lane, at: number, offset: number, length: number): string[] {
  const bytes = copy(lane, at, offset, length);
  const names: string[] = [];
  for (let from = 0; from < bytes.length; from += 1 + bytes[from]) {
    names.push(bytes.latin1Slice(from + 1, Math.min(from + 1 + bytes[from], bytes.length)));
  }
  return names;
}
