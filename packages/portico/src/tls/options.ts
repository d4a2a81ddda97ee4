/**
 * Every option of `https.createServer` and `tls.createSecureContext` that is about TLS, and what becomes of it.
 *
 * The table is the truth for the checks here, for `docs/tls.md` and for the test that no option is ignored in silence.
 * Options of OpenSSL's making that only some values of can be honoured are judged where they are translated
 * (`versions.ts`, `cipher-list.ts`, ...); the table says so with `translated`.
 */

import { TlsOptionError, USE_NODE_TLS } from './errors';

/** What becomes of an option. */
export type Verdict =
  /** Every value that Node takes does what Node says. */
  | 'honoured'
  /** Translated into the engine's terms; a value without an equivalent throws. */
  | 'translated'
  /** Only the default is possible; any other value throws. */
  | 'default only';

/** A row of the table. */
export interface OptionRow {
  readonly name: string;
  readonly verdict: Verdict;
  /** A sentence for the documentation. */
  readonly note: string;
  /** For `default only`: whether a value is the default. */
  readonly isDefault?: (value: unknown) => boolean;
  /** For `default only`: why, as a clause that follows the option's name, and what to use instead. */
  readonly why?: string;
  readonly advice?: string;
}

const unset = (value: unknown): boolean => value === undefined || value === null;

function honoured(name: string, note: string): OptionRow {
  return { name, verdict: 'honoured', note };
}

function translated(name: string, note: string): OptionRow {
  return { name, verdict: 'translated', note };
}

function defaultOnly(name: string, why: string, advice: string, isDefault: (value: unknown) => boolean): OptionRow {
  return { name, verdict: 'default only', note: `${why[0].toUpperCase()}${why.slice(1)}. ${advice}`, isDefault, why, advice };
}

const ENGINES = 'needs an OpenSSL engine, and Portico does not use OpenSSL for connections';

/** The table, in the order of Node's documentation: the server's own options, then those of a secure context. */
export const TLS_OPTIONS: readonly OptionRow[] = [
  honoured('ALPNProtocols', 'As in Node; a client whose protocols have none in common gets the alert.'),
  honoured('ALPNCallback', 'As in Node.'),
  defaultOnly('clientCertEngine', ENGINES, 'Give key and cert as PEM or PFX.', unset),
  defaultOnly('enableTrace', "needs OpenSSL's trace", "Use the 'keylog' event with Wireshark.", (value) => !value),
  honoured('handshakeTimeout', 'As in Node.'),
  honoured('rejectUnauthorized', 'As in Node; the client gets a TLS alert instead of a bare disconnect.'),
  honoured('requestCert', 'As in Node.'),
  honoured('sessionTimeout', 'As in Node.'),
  honoured('SNICallback', 'As in Node; the SecureContext must come from `tls.createSecureContext`.'),
  honoured('ticketKeys', "As in Node, among Portico servers; tickets of node:https servers are not read, nor theirs ours."),
  defaultOnly('pskCallback', 'needs pre-shared keys, which Portico does not have',
    'Use client certificates (requestCert).', unset),
  defaultOnly('pskIdentityHint', 'needs pre-shared keys, which Portico does not have',
    'Use client certificates (requestCert).', unset),
  honoured('allowPartialTrustChain', 'As documented; https.createServer of Node passes it over.'),
  honoured('ca', 'As in Node, for client certificates and for the missing part of a chain.'),
  honoured('cert', 'As in Node: PEM with chain, or a list of them.'),
  defaultOnly('certificateCompression', 'asks for RFC 8879, which Portico does not have',
    'Leave it out: it changes the size of the handshake only.',
    (value) => unset(value) || (Array.isArray(value) && value.length === 0)),
  translated('sigalgs', 'RSA (PKCS#1 and PSS) and ECDSA with SHA-256 to SHA-512, and Ed25519.'),
  translated('ciphers', "OpenSSL's language over the suites that Portico has; a named suite that it doesn't have throws."),
  honoured('crl', 'As in Node.'),
  defaultOnly('dhparam', 'asks for finite-field Diffie-Hellman, which Portico does not have',
    "Leave it out or say 'auto': every suite uses elliptic curves.", (value) => unset(value) || value === 'auto'),
  translated('ecdhCurve', 'X25519MLKEM768, X25519, P-256, P-384.'),
  honoured('honorCipherOrder', 'As in Node.'),
  translated('key', 'RSA of 2,048 to 8,192 bits, ECDSA on P-256, P-384 and P-521, Ed25519; encrypted or not.'),
  defaultOnly('privateKeyEngine', ENGINES, 'Give the key as PEM or PFX.', unset),
  defaultOnly('privateKeyIdentifier', ENGINES, 'Give the key as PEM or PFX.', unset),
  translated('maxVersion', "'TLSv1.2' or 'TLSv1.3'."),
  translated('minVersion', "'TLSv1.2' or 'TLSv1.3'; a lower one means 'TLSv1.2', as in OpenSSL 3 without '@SECLEVEL=0'."),
  honoured('passphrase', 'As in Node.'),
  translated('pfx', 'As in Node, with a key of the kinds that `key` takes.'),
  translated('secureOptions', 'SSL_OP_NO_TLSv1_2, NO_TLSv1_3, NO_TICKET, CIPHER_SERVER_PREFERENCE, and those without effect.'),
  translated('secureProtocol', 'TLS_method, TLSv1_2_method and SSLv23_method, with or without `_server`.'),
  honoured('sessionIdContext', 'As in Node.'),
];

/** Options that a server's constructor reads besides, and a context does not. */
const BY_NAME = new Map(TLS_OPTIONS.map((row) => [row.name, row]));

/** Row of an option. */
export function optionRow(name: string): OptionRow | undefined {
  return BY_NAME.get(name);
}

/**
 * Throws for the first option that only has its default.
 *
 * @throws TlsOptionError
 */
export function refuseUnsupported(options: object): void {
  for (const row of TLS_OPTIONS) {
    const value = (options as Record<string, unknown>)[row.name];
    if (row.isDefault !== undefined && !row.isDefault(value)) {
      throw new TlsOptionError(row.name, row.why ?? '', `${row.advice ?? ''} ${USE_NODE_TLS}`.trim());
    }
  }
}
