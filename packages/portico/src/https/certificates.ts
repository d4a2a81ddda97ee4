/**
 * Certificates as Node shows them: the objects of `getPeerCertificate()`.
 */

import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, PeerCertificate } from 'node:tls';

/** Links that a chain may have here; a real one has three or four. */
const MAX_DEPTH = 32;

/** A certificate as `getPeerCertificate()` gives it. */
export function legacyObject(certificate: X509Certificate): PeerCertificate {
  const object = certificate.toLegacyObject();
  const access = object.infoAccess as unknown;
  if (typeof access === 'string') (object as { infoAccess?: unknown }).infoAccess = infoAccess(access);
  return object;
}

/**
 * A chain as `getPeerCertificate(true)` gives it: each object has its issuer's as `issuerCertificate`, and a
 * self-signed one has itself.
 *
 * @param sent what the peer sent, leaf first
 * @param known certificates among which missing issuers are searched, as OpenSSL does in its trust store
 */
export function detailedObject(sent: X509Certificate[], known: () => X509Certificate[]): DetailedPeerCertificate {
  const leaf = legacyObject(sent[0]) as DetailedPeerCertificate;
  let certificate = sent[0];
  let object = leaf;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (certificate.checkIssued(certificate)) {
      object.issuerCertificate = object;
      break;
    }
    const below = certificate;
    const isIssuer = (candidate: X509Certificate): boolean => below.checkIssued(candidate);
    const issuer = sent.find(isIssuer) ?? known().find(isIssuer);
    if (issuer === undefined) break;
    object.issuerCertificate = legacyObject(issuer) as DetailedPeerCertificate;
    object = object.issuerCertificate;
    certificate = issuer;
  }
  return leaf;
}

/** DER to certificates; what can't be read is left out. */
export function readCertificates(ders: readonly Uint8Array[]): X509Certificate[] {
  return ders.flatMap((der) => {
    try {
      return [new X509Certificate(der)];
    } catch {
      return [];
    }
  });
}

/** OpenSSL's lines `method:value` as a map of lists; a value in quotes is a JSON string. */
function infoAccess(text: string): Record<string, string[]> {
  const map = Object.create(null) as Record<string, string[]>;
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === -1) continue;
    const method = line.slice(0, colon);
    const value = line.slice(colon + 1);
    (map[method] ??= []).push(value.startsWith('"') ? JSON.parse(value) as string : value);
  }
  return map;
}
