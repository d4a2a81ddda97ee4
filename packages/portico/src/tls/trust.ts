/**
 * Whom client certificates are checked against: the options `ca` and `crl`.
 */

import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { list } from './identities';
import { pemCertificates, pemRevocationLists, type PemInput } from './pem';

/** The options that decide about trust. */
export interface TrustOptions {
  ca?: PemInput | PemInput[] | null;
  crl?: PemInput | PemInput[] | null;
}

/** The certificates of `ca` as DER, or Node's default authorities where there is none. */
export function trustAnchors(options: TrustOptions): Buffer[] {
  const given = list(options.ca);
  return (given.length === 0 ? defaultAuthorities() : given).flatMap(pemCertificates);
}

/** Revocation lists as DER. */
export function revocationLists(options: TrustOptions): Buffer[] {
  return list(options.crl).flatMap(pemRevocationLists);
}

function defaultAuthorities(): readonly string[] {
  // Node 22 and later know of the system's store and of NODE_EXTRA_CA_CERTS.
  const get = (tls as { getCACertificates?: () => readonly string[] }).getCACertificates;
  return get === undefined ? [...tls.rootCertificates, ...extraAuthorities()] : get();
}

function extraAuthorities(): string[] {
  const file = process.env['NODE_EXTRA_CA_CERTS'];
  try {
    return file ? [readFileSync(file, 'latin1')] : [];
  } catch {
    // Node has warned of it at its start.
    return [];
  }
}
