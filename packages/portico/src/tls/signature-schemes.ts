/**
 * From OpenSSL's `sigalgs` to the signature schemes that the engine has.
 */

import { TlsOptionError, USE_NODE_TLS } from './errors';

/** IANA numbers by the names that OpenSSL takes, in lower case. */
const SCHEMES: Record<string, number> = {
  'rsa+sha256': 0x0401, rsa_pkcs1_sha256: 0x0401,
  'rsa+sha384': 0x0501, rsa_pkcs1_sha384: 0x0501,
  'rsa+sha512': 0x0601, rsa_pkcs1_sha512: 0x0601,
  'ecdsa+sha256': 0x0403, ecdsa_secp256r1_sha256: 0x0403,
  'ecdsa+sha384': 0x0503, ecdsa_secp384r1_sha384: 0x0503,
  'ecdsa+sha512': 0x0603, ecdsa_secp521r1_sha512: 0x0603,
  'rsa-pss+sha256': 0x0804, 'pss+sha256': 0x0804, rsa_pss_rsae_sha256: 0x0804,
  'rsa-pss+sha384': 0x0805, 'pss+sha384': 0x0805, rsa_pss_rsae_sha384: 0x0805,
  'rsa-pss+sha512': 0x0806, 'pss+sha512': 0x0806, rsa_pss_rsae_sha512: 0x0806,
  ed25519: 0x0807,
};

/**
 * IANA numbers for the option `sigalgs`, in its order.
 *
 * @throws TlsOptionError for a scheme that the engine doesn't have
 */
export function signatureSchemes(sigalgs: string): number[] {
  const ids: number[] = [];
  for (const element of sigalgs.split(':')) {
    const optional = element.startsWith('?');
    const id = SCHEMES[element.replace(/^\?/, '').toLowerCase()];
    if (id !== undefined) {
      if (!ids.includes(id)) ids.push(id);
    } else if (!optional) {
      throw new TlsOptionError('sigalgs', `names '${element}', which Portico doesn't have`,
        `It has RSA (PKCS#1 and PSS) and ECDSA with SHA-256, SHA-384 and SHA-512, and Ed25519. ${USE_NODE_TLS}`);
    }
  }
  return ids;
}
