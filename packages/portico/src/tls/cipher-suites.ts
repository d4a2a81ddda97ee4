/**
 * The cipher suites that the engine's TLS has, under each of the names they go by.
 *
 * Order: OpenSSL's own order of preference, in which a cipher list's expressions pick them up.
 */

/** A cipher suite. */
export interface CipherSuite {
  /** IANA number. */
  readonly id: number;
  /** OpenSSL's name, what `getCipher().name` shows. */
  readonly name: string;
  /** IANA's name, what `getCipher().standardName` shows. */
  readonly standardName: string;
  /** Protocol that the suite belongs to. */
  readonly version: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's selectors that the suite answers to in a cipher list; none for TLS 1.3, whose suites are only named. */
  readonly selectors: ReadonlySet<string>;
}

/** Selectors that every TLS 1.2 suite here answers to: all are ECDHE with an AEAD of high strength. */
const COMMON = ['ALL', 'DEFAULT', 'HIGH', 'TLSv1.2', 'kECDHE', 'kEECDH', 'ECDHE', 'EECDH', 'ECDH'];
const AES256 = ['AES', 'AES256', 'AESGCM', 'FIPS'];
const AES128 = ['AES', 'AES128', 'AESGCM', 'FIPS'];
const CHACHA = ['CHACHA20'];
const ECDSA = ['aECDSA', 'ECDSA'];
const RSA = ['aRSA'];

function tls12(id: number, name: string, standardName: string, ...selectors: string[][]): CipherSuite {
  return { id, name, standardName, version: 'TLSv1.2', selectors: new Set([...COMMON, ...selectors.flat()]) };
}

function tls13(id: number, name: string): CipherSuite {
  return { id, name, standardName: name, version: 'TLSv1.3', selectors: new Set() };
}

/** TLS 1.3 suites in OpenSSL's default order. */
export const TLS13_SUITES: readonly CipherSuite[] = [
  tls13(0x1302, 'TLS_AES_256_GCM_SHA384'),
  tls13(0x1303, 'TLS_CHACHA20_POLY1305_SHA256'),
  tls13(0x1301, 'TLS_AES_128_GCM_SHA256'),
];

/** TLS 1.2 suites in the order of OpenSSL's `ALL`. */
export const TLS12_SUITES: readonly CipherSuite[] = [
  tls12(0xc02c, 'ECDHE-ECDSA-AES256-GCM-SHA384', 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', ECDSA, AES256),
  tls12(0xc030, 'ECDHE-RSA-AES256-GCM-SHA384', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', RSA, AES256),
  tls12(0xcca9, 'ECDHE-ECDSA-CHACHA20-POLY1305', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', ECDSA, CHACHA),
  tls12(0xcca8, 'ECDHE-RSA-CHACHA20-POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', RSA, CHACHA),
  tls12(0xc02b, 'ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', ECDSA, AES128),
  tls12(0xc02f, 'ECDHE-RSA-AES128-GCM-SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', RSA, AES128),
];

const BY_ID = new Map([...TLS13_SUITES, ...TLS12_SUITES].map((suite) => [suite.id, suite]));

/** The suite with an IANA number, undefined if the engine doesn't have it. */
export function suiteById(id: number): CipherSuite | undefined {
  return BY_ID.get(id);
}
