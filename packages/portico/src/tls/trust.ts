/**
 * Whom client certificates are checked against: the options `ca`, `crl` and `allowPartialTrustChain`.
 */

import { X509Certificate } from 'node:crypto';
import * as tls from 'node:tls';
import { list } from './identities';
import { pemCertificates, pemRevocationLists, type PemInput } from './pem';

/** The options that decide about trust. */
export interface TrustOptions {
  ca?: PemInput | PemInput[] | null;
  crl?: PemInput | PemInput[] | null;
  allowPartialTrustChain?: boolean;
}

/**
 * Trust anchors as DER: those of `ca`, or Node's default ones where there is none.
 *
 * OpenSSL ends a path at a self-signed certificate only, and takes the others in `ca` as links; the engine's verifier
 * ends a path at any anchor. So a link is passed on as an anchor only if its own path ends in `ca`, which comes to the
 * same verdict. With `allowPartialTrustChain` every certificate in `ca` is an anchor.
 */
export function trustAnchors(options: TrustOptions): Buffer[] {
  const given = list(options.ca);
  const ders = (given.length === 0 ? defaultAuthorities() : given).flatMap(pemCertificates);
  if (given.length === 0 || options.allowPartialTrustChain === true) return ders;
  return rooted(ders);
}

/** Revocation lists as DER. */
export function revocationLists(options: TrustOptions): Buffer[] {
  return list(options.crl).flatMap(pemRevocationLists);
}

function defaultAuthorities(): readonly string[] {
  // Node 22 and later know of the system's store and of NODE_EXTRA_CA_CERTS.
  const get = (tls as { getCACertificates?: () => readonly string[] }).getCACertificates;
  return get === undefined ? tls.rootCertificates : get();
}

function rooted(ders: Buffer[]): Buffer[] {
  const open: { der: Buffer; certificate: X509Certificate }[] = [];
  const anchors: { der: Buffer; certificate: X509Certificate }[] = [];
  const opaque: Buffer[] = [];
  for (const der of ders) {
    try {
      const certificate = new X509Certificate(der);
      (certificate.checkIssued(certificate) ? anchors : open).push({ der, certificate });
    } catch {
      opaque.push(der);
    }
  }
  for (let grew = true; grew;) {
    const next = open.findIndex(({ certificate }) => anchors.some((anchor) =>
      certificate.checkIssued(anchor.certificate) && certificate.verify(anchor.certificate.publicKey)));
    grew = next !== -1;
    if (grew) anchors.push(...open.splice(next, 1));
  }
  return [...anchors.map(({ der }) => der), ...opaque];
}
