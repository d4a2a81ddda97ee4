/**
 * Keys and certificates, from what Node's options take to what the engine takes.
 *
 * OpenSSL has checked them already (Node's own `createSecureContext` ran first), so that what is wrong in the ordinary
 * way has been thrown in OpenSSL's words. What remains are keys that the engine's TLS can't use.
 */

import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import type { TlsIdentity } from '../native/binding';
import { TlsOptionError, USE_NODE_TLS } from './errors';
import { pemCertificates, pemText, type PemInput } from './pem';

/** One element of the option `key`. */
export type KeyInput = PemInput | { pem: PemInput; passphrase?: string };

/** The options that make up identities. */
export interface IdentityOptions {
  key?: KeyInput | KeyInput[] | null;
  cert?: PemInput | PemInput[] | null;
  ca?: PemInput | PemInput[] | null;
  passphrase?: string | null;
}

/** Curves of keys that the engine signs with. */
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/** Bits of RSA keys that the engine signs with. */
const RSA_BITS = { min: 2048, max: 8192 };

/**
 * Pairs each key with its certificate. As in OpenSSL, a later pair of the same key type replaces an earlier one, a
 * chain comes with its leaf (one PEM file, leaf first), and a leaf alone gets its issuers from `ca`.
 *
 * @throws TlsOptionError for a key that the engine can't use
 */
export function identities(options: IdentityOptions): TlsIdentity[] {
  const keys = list(options.key).map((key) => privateKey(key, options.passphrase ?? undefined));
  const issuers = new IssuerSearch(list(options.ca).flatMap(pemCertificates));
  const byType = new Map<string, TlsIdentity>();
  for (const input of list(options.cert)) {
    const chain = pemCertificates(input);
    if (chain.length === 0) continue;
    const leaf = new X509Certificate(chain[0]);
    const key = keys.findLast((candidate) => leaf.checkPrivateKey(candidate));
    if (key === undefined) continue;
    const type = usableType(key);
    const full = chain.length > 1 ? chain : [...chain, ...issuers.above(leaf)];
    byType.set(type, { chain: full, key: key.export({ type: 'pkcs8', format: 'der' }) });
  }
  return [...byType.values()];
}

/** An option that may be given once or as a list. */
export function list<T>(value: T | T[] | null | undefined): T[] {
  if (value === null || value === undefined || (value as unknown) === '' || (value as unknown) === false) return [];
  return Array.isArray(value) ? value : [value];
}

function privateKey(input: KeyInput, commonPassphrase: string | undefined): KeyObject {
  const own = typeof input === 'object' && 'pem' in input ? input : { pem: input as PemInput, passphrase: undefined };
  const passphrase = own.passphrase ?? commonPassphrase;
  return createPrivateKey({ key: pemText(own.pem), format: 'pem', ...(passphrase === undefined ? {} : { passphrase }) });
}

/** The key's type, by which identities replace each other. */
function usableType(key: KeyObject): string {
  const type = key.asymmetricKeyType ?? 'unknown';
  const details = key.asymmetricKeyDetails ?? {};
  if (type === 'rsa') {
    const bits = details.modulusLength ?? 0;
    if (bits >= RSA_BITS.min && bits <= RSA_BITS.max) return type;
    throw refused(`is an RSA key of ${bits} bits, and Portico takes ${RSA_BITS.min} to ${RSA_BITS.max}`);
  }
  if (type === 'ec') {
    if (CURVES.has(details.namedCurve ?? '')) return type;
    throw refused(`is on the curve ${details.namedCurve}, and Portico takes P-256, P-384 and P-521`);
  }
  if (type === 'ed25519') return type;
  throw refused(`is of type ${type}, and Portico takes RSA, ECDSA (P-256, P-384, P-521) and Ed25519 keys`);
}

function refused(why: string): TlsOptionError {
  return new TlsOptionError('key', why, `Get a certificate for such a key. ${USE_NODE_TLS}`);
}

/** Finds a leaf's issuers among the certificates of `ca`, as OpenSSL does for a leaf without a chain. */
class IssuerSearch {
  readonly #ders: Buffer[];
  #parsed: X509Certificate[] | undefined;

  constructor(ders: Buffer[]) {
    this.#ders = ders;
  }

  above(leaf: X509Certificate): Buffer[] {
    this.#parsed ??= this.#ders.flatMap(parse);
    const chain: Buffer[] = [];
    let below = leaf;
    while (chain.length < this.#parsed.length && !below.checkIssued(below)) {
      const issuer = this.#parsed.find((candidate) => below.checkIssued(candidate) && below.verify(candidate.publicKey));
      if (issuer === undefined) break;
      chain.push(issuer.raw);
      below = issuer;
    }
    return chain;
  }
}

/** A certificate that OpenSSL has let pass may still be one that X509Certificate can't read: it is no issuer then. */
function parse(der: Buffer): X509Certificate[] {
  try {
    return [new X509Certificate(der)];
  } catch {
    return [];
  }
}
