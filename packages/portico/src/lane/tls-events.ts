/** Events of TLS connections, decoded for the server's `TlsProvider`. */

import * as layout from '../generated/layout';
import type { SecureInfo } from './tls-provider';
import { Connection } from './connection';
import type { Lane } from './lane';
import { flagsOf } from './slab';

/** Handles an event that only TLS connections have. */
export function dispatchTls(connection: Connection, kind: number, at: number): void {
  const { provider } = connection.server;
  if (provider === undefined) {
    // A host has ended TLS for a server of node:http.
    if (kind === layout.EVENT_SECURE) {
      keying(connection.lane, at);
      connection.encryptedToHost();
    }
    return;
  }
  switch (kind) {
    case layout.EVENT_SECURE: return secured(connection, at);
    case layout.EVENT_SERVER_NAME:
      return provider.serverName(connection, text(connection.lane, at, layout.EventServerName.NAME_OFFSET));
    case layout.EVENT_ALPN:
      return provider.alpn(connection, text(connection.lane, at, layout.EventAlpn.NAME_OFFSET),
        protocols(connection.lane, at));
    case layout.EVENT_KEY_LOG:
      return provider.keyLog(connection, copy(connection.lane, at, at + layout.EventKeyLog.LINE_OFFSET));
    case layout.EVENT_TLS_ERROR:
      return provider.tlsError(connection, text(connection.lane, at, layout.EventTlsError.TEXT_OFFSET));
    default:
  }
}

/** A handshake that failed before the connection was announced: there is a connection object for its report only. */
export function unknownConnectionFailed(lane: Lane, at: number): void {
  const { words } = lane.slab;
  const server = lane.servers.get(words[at + layout.EventTlsError.LISTENER]);
  if (server?.provider === undefined) return;
  const connection = Connection.gone(lane, server, words[at + layout.EventTlsError.TOKEN]);
  server.provider.tlsError(connection, text(lane, at, layout.EventTlsError.TEXT_OFFSET));
}

function secured(connection: Connection, at: number): void {
  const { lane, lane: { slab: { words } }, server: { provider } } = connection;
  const flags = flagsOf(words, at);
  const table = at + layout.EventSecure.WORDS;
  const peerCertificates = Array.from({ length: words[at + layout.EventSecure.CERTIFICATE_COUNT] }, (_, index) =>
    copy(lane, at, table + index * layout.Certificate.WORDS + layout.Certificate.DER_OFFSET));
  const info: SecureInfo = {
    protocol: words[at + layout.EventSecure.VERSION] & layout.EventSecure.VERSION_MASK,
    cipherSuite: words[at + layout.EventSecure.CIPHER_SUITE] >>> layout.EventSecure.CIPHER_SUITE_SHIFT,
    verifyError: words[at + layout.EventSecure.VERIFY_ERROR],
    namedGroup: words[at + layout.EventSecure.NAMED_GROUP],
    servername: text(lane, at, layout.EventSecure.SERVER_NAME_OFFSET),
    alpnProtocol: text(lane, at, layout.EventSecure.ALPN_OFFSET),
    resumed: (flags & layout.SECURE_FLAG_RESUMED) !== 0,
    certificateRequested: (flags & layout.SECURE_FLAG_CERTIFICATE_REQUESTED) !== 0,
    peerCertificates,
    keying: keying(lane, at),
    finishedLength: words[at + layout.EventSecure.FINISHED_BYTES],
    secretLength: words[at + layout.EventSecure.SECRET_BYTES],
  };
  connection.secure = info;
  // The program has done away with it meanwhile.
  if (connection.destroying) return;
  if (provider?.secure(connection) === false) connection.destroy();
  else connection.server.welcome?.(connection);
}

/** What is kept for later questions. The slab is seen by whoever gets a piece of a body: the secret does not stay there. */
function keying(lane: Lane, at: number): Buffer {
  const { bytes, words } = lane.slab;
  const kept = copy(lane, at, at + layout.EventSecure.KEYING_OFFSET);
  const secret = (at << 2) + words[at + layout.EventSecure.KEYING_OFFSET] + words[at + layout.EventSecure.FINISHED_BYTES] * 2;
  bytes.fill(0, secret, secret + words[at + layout.EventSecure.SECRET_BYTES]);
  return kept;
}

/** The text that the range at word `range` of the record names. */
function text(lane: Lane, at: number, range: number): string {
  const { words, bytes } = lane.slab;
  const start = (at << 2) + words[at + range + layout.RangeWords.OFFSET];
  const length = words[at + range + layout.RangeWords.LENGTH];
  return length === 0 ? '' : bytes.latin1Slice(start, start + length);
}

/** A copy of the bytes of the record at word `at` that the range at word `range` of the slab names. */
function copy(lane: Lane, at: number, range: number): Buffer {
  const { words, bytes } = lane.slab;
  const start = (at << 2) + words[range + layout.RangeWords.OFFSET];
  return Buffer.from(bytes.subarray(start, start + words[range + layout.RangeWords.LENGTH]));
}

/** ALPN's wire format: each name with a length byte before it. */
function protocols(lane: Lane, at: number): string[] {
  const bytes = copy(lane, at, at + layout.EventAlpn.PROTOCOLS_OFFSET);
  const names: string[] = [];
  for (let from = 0; from < bytes.length; from += 1 + bytes[from]) {
    names.push(bytes.latin1Slice(from + 1, Math.min(from + 1 + bytes[from], bytes.length)));
  }
  return names;
}
