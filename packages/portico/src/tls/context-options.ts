/**
 * From what a SecureContext was made of to what the engine makes a context of.
 *
 * As in OpenSSL, a context that SNI chose brings its keys, its trust and its suites; the protocol versions, the order
 * of suites, the key exchange groups and the tickets stay those of the server.
 */

import { createHmac } from 'node:crypto';
import * as tls from 'node:tls';
import type { TlsContextOptions } from '../native/binding';
import { evaluateCipherList, type CipherChoice } from './cipher-list';
import { identities, list, type IdentityOptions } from './identities';
import { namedGroups } from './named-groups';
import { refuseUnsupported } from './options';
import { pemBytes, type PemInput } from './pem';
import { readSecureOptions } from './secure-options';
import type { RecordedOptions } from './secure-context';
import { signatureSchemes } from './signature-schemes';
import { revocationLists, trustAnchors, type TrustOptions } from './trust';
import { TLS12, TLS13, versionRange, type VersionRange } from './versions';

/** What all contexts of a server have in common. */
export interface ServerSettings {
  requestCert: boolean;
  rejectUnauthorized: boolean;
  alpn: string[];
  versions: VersionRange;
  ciphers: CipherChoice;
  groups: number[];
  honorCipherOrder: boolean;
  tickets: boolean;
  /** Seconds; 0: the library's default. */
  sessionTimeout: number;
  /** Empty: made at random. */
  ticketKeys: Uint8Array;
  keyLog: boolean;
}

/** The settings of a server that are not in its options' context part. */
export type HandshakeSettings = Pick<ServerSettings, 'requestCert' | 'rejectUnauthorized' | 'alpn' | 'ticketKeys' | 'keyLog'>;

const NO_KEYS = new Uint8Array(0);

/**
 * Translates the options of a server's own context.
 *
 * @throws TlsOptionError for what can't be honoured
 */
export function serverSettings(options: RecordedOptions, handshake: HandshakeSettings): ServerSettings {
  refuseUnsupported(options);
  const secure = readSecureOptions(options.secureOptions ?? 0);
  const ciphers = cipherChoice(options);
  return {
    ...handshake,
    versions: narrow(versionRange(options, { min: tls.DEFAULT_MIN_VERSION, max: tls.DEFAULT_MAX_VERSION },
      ciphers.securityLevel), ciphers, secure),
    ciphers,
    groups: namedGroups(options.ecdhCurve ?? (tls.DEFAULT_ECDH_CURVE || 'auto')),
    honorCipherOrder: options.honorCipherOrder !== false || secure.serverPreference,
    tickets: !secure.noTickets,
    sessionTimeout: options.sessionTimeout ?? 0,
    ticketKeys: scopedKeys(handshake.ticketKeys, options.sessionIdContext),
  };
}

/**
 * What the engine makes a context of.
 *
 * @param own options of the context itself (for the server's own: the same as its settings came from)
 * @throws TlsOptionError for what can't be honoured
 */
export function contextOptions(own: RecordedOptions, settings: ServerSettings): TlsContextOptions {
  refuseUnsupported(own);
  const chosen = own.ciphers ? cipherChoice(own) : settings.ciphers;
  const pfx = pfxFiles(own);
  return {
    identities: identities(own as IdentityOptions),
    ...(pfx.length === 0 ? {} : { pfx }),
    ca: settings.requestCert ? trustAnchors(own as TrustOptions) : [],
    crl: settings.requestCert ? revocationLists(own as TrustOptions) : [],
    requestCert: settings.requestCert,
    rejectUnauthorized: settings.rejectUnauthorized,
    ...(own.allowPartialTrustChain ? { allowPartialTrustChain: true } : {}),
    alpn: settings.alpn,
    minVersion: settings.versions.min,
    maxVersion: settings.versions.max,
    cipherSuites: chosen.suites.map((suite) => suite.id),
    namedGroups: settings.groups,
    sessionTimeout: settings.sessionTimeout,
    ticketKeys: settings.ticketKeys,
    keyLog: settings.keyLog,
    honorCipherOrder: settings.honorCipherOrder,
    tickets: settings.tickets,
    signatureSchemes: own.sigalgs ? signatureSchemes(own.sigalgs) : [],
  };
}

let knownSuites: ReadonlySet<string> | undefined;

function cipherChoice(options: RecordedOptions): CipherChoice {
  knownSuites ??= new Set(tls.getCiphers());
  return evaluateCipherList(options.ciphers || tls.DEFAULT_CIPHERS, tls.DEFAULT_CIPHERS, knownSuites);
}

/** Suites of one version only, and OpenSSL's "not this version" bits, narrow the range. */
function narrow(range: VersionRange, ciphers: CipherChoice, secure: { noTls12: boolean; noTls13: boolean }): VersionRange {
  return {
    min: secure.noTls12 || !ciphers.tls12 ? Math.max(range.min, TLS13) : range.min,
    max: secure.noTls13 ? Math.min(range.max, TLS12) : range.max,
  };
}

/**
 * OpenSSL resumes a session only under the `sessionIdContext` that it was made under. Keys that depend on it come to
 * the same: a ticket from another one does not decrypt.
 */
function scopedKeys(keys: Uint8Array, sessionIdContext: string | undefined): Uint8Array {
  if (keys.length === 0 || sessionIdContext === undefined) return keys;
  const mac = createHmac('sha384', keys).update('portico ticket keys\0').update(sessionIdContext).digest();
  return mac.length === 48 ? mac : NO_KEYS;
}

function pfxFiles(options: RecordedOptions): { data: Uint8Array; passphrase: string }[] {
  type Element = PemInput | { buf: PemInput; passphrase?: string };
  return list(options.pfx as Element | Element[] | undefined).map((element) => {
    const own = typeof element === 'object' && 'buf' in element ? element : { buf: element as PemInput, passphrase: undefined };
    const passphrase = (own.passphrase || options.passphrase) ?? '';
    return { data: pemBytes(own.buf), passphrase };
  });
}
