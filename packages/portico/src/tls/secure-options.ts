/**
 * The bits of OpenSSL's `secureOptions`, and what each comes to here.
 */

import { constants } from 'node:crypto';
import { TlsOptionError, USE_NODE_TLS } from './errors';

/** What `secureOptions` asks for beyond the defaults. */
export interface SecureOptionsEffect {
  noTls12: boolean;
  noTls13: boolean;
  noTickets: boolean;
  serverPreference: boolean;
}

/** Options that change nothing, because the engine always does so or has nothing that they apply to. */
const WITHOUT_EFFECT = [
  'SSL_OP_ALL', 'SSL_OP_CISCO_ANYCONNECT', 'SSL_OP_COOKIE_EXCHANGE', 'SSL_OP_CRYPTOPRO_TLSEXT_BUG',
  'SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS', 'SSL_OP_LEGACY_SERVER_CONNECT', 'SSL_OP_NO_COMPRESSION',
  'SSL_OP_NO_ENCRYPT_THEN_MAC', 'SSL_OP_NO_QUERY_MTU', 'SSL_OP_NO_RENEGOTIATION',
  'SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION', 'SSL_OP_NO_SSLv2', 'SSL_OP_NO_SSLv3', 'SSL_OP_NO_TLSv1',
  'SSL_OP_NO_TLSv1_1',
] as const;

/** Options that can't be honoured, with what to do. */
const REFUSED: Record<string, string> = {
  SSL_OP_ALLOW_NO_DHE_KEX: 'Portico resumes TLS 1.3 sessions with a fresh key exchange only.',
  SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION: 'Portico never renegotiates.',
  SSL_OP_PRIORITIZE_CHACHA: 'Put ChaCha20 first in `ciphers`, or set `honorCipherOrder: false` to let clients choose.',
  SSL_OP_TLS_ROLLBACK_BUG: 'Portico has no protection to take away for old clients.',
};

function bit(name: string): number {
  return ((constants as unknown as Record<string, number | undefined>)[name] ?? 0) >>> 0;
}

/**
 * Takes a value of `secureOptions` apart.
 *
 * @throws TlsOptionError if it has a bit that can't be honoured
 */
export function readSecureOptions(value: number): SecureOptionsEffect {
  const has = (name: string): boolean => bit(name) !== 0 && ((value & bit(name)) >>> 0) === bit(name);
  for (const [name, advice] of Object.entries(REFUSED)) {
    if (has(name)) throw new TlsOptionError('secureOptions', `has ${name}, which Portico can't honour`, advice);
  }
  const understood = [...WITHOUT_EFFECT, 'SSL_OP_NO_TLSv1_2', 'SSL_OP_NO_TLSv1_3', 'SSL_OP_NO_TICKET',
    'SSL_OP_CIPHER_SERVER_PREFERENCE'].reduce((bits, name) => (bits | bit(name)) >>> 0, 0);
  const unknown = (value & ~understood) >>> 0;
  if (unknown !== 0) {
    throw new TlsOptionError('secureOptions', `has bits that Portico doesn't know (0x${unknown.toString(16)})`,
      USE_NODE_TLS);
  }
  return {
    noTls12: has('SSL_OP_NO_TLSv1_2'),
    noTls13: has('SSL_OP_NO_TLSv1_3'),
    noTickets: has('SSL_OP_NO_TICKET'),
    serverPreference: has('SSL_OP_CIPHER_SERVER_PREFERENCE'),
  };
}
