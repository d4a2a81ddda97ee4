/**
 * From `minVersion`, `maxVersion` and `secureProtocol` to the two versions that the engine has.
 */

import { TlsOptionError, USE_NODE_TLS } from './errors';

/** Protocol numbers of RFC 8446, 4.2.1. */
export const TLS12 = 0x0303;
export const TLS13 = 0x0304;

/** The options that decide the range. */
export interface VersionOptions {
  minVersion?: string | null | undefined;
  maxVersion?: string | null | undefined;
  secureProtocol?: string | null | undefined;
}

/** An inclusive range of protocol versions. */
export interface VersionRange {
  min: number;
  max: number;
}

/** Node's names, as numbers that can be compared. */
const NAMES: Record<string, number> = { 'TLSv1': 0x0301, 'TLSv1.1': 0x0302, 'TLSv1.2': TLS12, 'TLSv1.3': TLS13 };

/** OpenSSL's method names without `_server`; null: any version that the defaults allow. */
const METHODS: Record<string, VersionRange | null> = {
  TLS_method: null,
  // In OpenSSL's terms "the version-flexible method of the time before TLS 1.3".
  SSLv23_method: { min: TLS12, max: TLS12 },
  TLSv1_2_method: { min: TLS12, max: TLS12 },
};

/**
 * The range of versions to offer.
 *
 * A lower bound below TLS 1.2 is honoured as OpenSSL 3 does: at its default security level it never agrees on a
 * version below 1.2 whatever the bound says; only `@SECLEVEL=0` in `ciphers` makes it.
 *
 * @param securityLevel `@SECLEVEL` of the cipher list
 * @throws TlsOptionError if nothing but TLS 1.0 or 1.1 is allowed, or if they are asked for with `@SECLEVEL=0`
 */
export function versionRange(options: VersionOptions, defaults: { min: string; max: string },
  securityLevel: number): VersionRange {
  if (options.secureProtocol) return methodRange(options.secureProtocol);
  const min = NAMES[options.minVersion ?? defaults.min] ?? TLS12;
  const max = NAMES[options.maxVersion ?? defaults.max] ?? TLS13;
  if (max < TLS12) {
    throw new TlsOptionError('maxVersion', `allows nothing above ${options.maxVersion ?? defaults.max}, and Portico `
      + 'speaks TLS 1.2 and 1.3 only', USE_NODE_TLS);
  }
  if (min < TLS12 && securityLevel === 0) {
    throw new TlsOptionError('minVersion', `asks for ${options.minVersion ?? defaults.min} (with '@SECLEVEL=0' in `
      + "'ciphers'), and Portico speaks TLS 1.2 and 1.3 only", "Set it to 'TLSv1.2', or take '@SECLEVEL=0' out.");
  }
  return { min: Math.max(min, TLS12), max };
}

function methodRange(secureProtocol: string): VersionRange {
  const range = METHODS[secureProtocol.replace('_server', '')];
  if (range === undefined) {
    throw new TlsOptionError('secureProtocol', `is '${secureProtocol}', and Portico speaks TLS 1.2 and 1.3 only`,
      "Use minVersion and maxVersion with 'TLSv1.2' or 'TLSv1.3'.");
  }
  return range ?? { min: TLS12, max: TLS13 };
}
