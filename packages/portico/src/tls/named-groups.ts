/**
 * From OpenSSL's `ecdhCurve` to the key exchange groups that the engine has.
 */

import { TlsOptionError, USE_NODE_TLS } from './errors';

/** A key exchange group. */
export interface NamedGroup {
  /** IANA number. */
  readonly id: number;
  /** Names that OpenSSL takes, in lower case. */
  readonly names: readonly string[];
}

const GROUPS: readonly NamedGroup[] = [
  { id: 0x11ec, names: ['x25519mlkem768'] },
  { id: 0x001d, names: ['x25519'] },
  { id: 0x0017, names: ['p-256', 'prime256v1', 'secp256r1'] },
  { id: 0x0018, names: ['p-384', 'secp384r1'] },
];

/**
 * IANA numbers for the option `ecdhCurve`, in its order; empty for 'auto', the library's own choice.
 *
 * @throws TlsOptionError for a curve that the engine doesn't have (one marked `?` is passed over, as in OpenSSL)
 */
export function namedGroups(ecdhCurve: string): number[] {
  if (ecdhCurve === 'auto') return [];
  const ids: number[] = [];
  for (const element of ecdhCurve.split(/[:/]/)) {
    const optional = element.includes('?');
    const name = element.replace(/^[?*]+/, '').toLowerCase();
    if (name === 'default') return [];
    const group = GROUPS.find((candidate) => candidate.names.includes(name));
    if (group !== undefined) {
      if (!ids.includes(group.id)) ids.push(group.id);
    } else if (!optional) {
      throw new TlsOptionError('ecdhCurve', `names '${element}', which Portico doesn't have`,
        `It has X25519MLKEM768, X25519, P-256 and P-384. ${USE_NODE_TLS}`);
    }
  }
  return ids;
}
