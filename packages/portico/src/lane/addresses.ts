/** Socket addresses as they stand in records, and as `net` writes them. */

import { Endpoints } from '../generated/layout';

/** Places that a table begins with. */
const FIRST_PLACES = 64;

/**
 * The address words of all open connections of a lane. One piece of memory: a typed array for each connection costs a
 * quarter of a microsecond and two hundred bytes, and most programs never ask.
 */
export class AddressTable {
  #words = new Int32Array(FIRST_PLACES * Endpoints.WORDS);
  #used = 0;
  readonly #free: number[] = [];

  /** Keeps the words at index `at` of a record; returns their place. */
  keep(words: Int32Array, at: number): number {
    const place = this.#free.pop() ?? this.#used++;
    const start = place * Endpoints.WORDS;
    if (start >= this.#words.length) this.#grow();
    const kept = this.#words;
    for (let index = 0; index < Endpoints.WORDS; index++) kept[start + index] = words[at + index];
    return place;
  }

  read(place: number): Addresses {
    return readAddresses(this.#words, place * Endpoints.WORDS);
  }

  /** The place may be another's. */
  release(place: number): void {
    this.#free.push(place);
  }

  #grow(): void {
    const grown = new Int32Array(this.#words.length * 2);
    grown.set(this.#words);
    this.#words = grown;
  }
}

/** Both ends of a connection; undefined for a Unix socket. */
export interface Addresses {
  remoteAddress: string | undefined;
  remotePort: number;
  remoteFamily: string | undefined;
  localAddress: string | undefined;
  localPort: number;
  localFamily: string | undefined;
}

/** Of a connection that can't be asked any more. */
export const NO_ADDRESSES: Addresses = readAddresses(new Int32Array(Endpoints.WORDS), 0);

/** Both addresses; `at` is the index of their first word. */
export function readAddresses(words: Int32Array, at: number): Addresses {
  const remote = words[at + Endpoints.REMOTE_FAMILY] & Endpoints.REMOTE_FAMILY_MASK;
  const local = words[at + Endpoints.LOCAL_FAMILY] >>> Endpoints.LOCAL_FAMILY_SHIFT;
  return {
    remoteAddress: formatAddress(words, at + Endpoints.REMOTE_ADDRESS, remote, words[at + Endpoints.REMOTE_SCOPE]),
    remotePort: words[at + Endpoints.REMOTE_PORT] & Endpoints.REMOTE_PORT_MASK,
    remoteFamily: familyName(remote),
    localAddress: formatAddress(words, at + Endpoints.LOCAL_ADDRESS, local, 0),
    localPort: words[at + Endpoints.LOCAL_PORT] >>> Endpoints.LOCAL_PORT_SHIFT,
    localFamily: familyName(local),
  };
}

function familyName(family: number): string | undefined {
  if (family === 4) return 'IPv4';
  return family === 6 ? 'IPv6' : undefined;
}

function formatAddress(words: Int32Array, at: number, family: number, scope: number): string | undefined {
  const bytes = new Uint8Array(words.buffer, words.byteOffset + at * 4, 16);
  if (family === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (family !== 6) return undefined;
  return formatIpv6(bytes) + (scope !== 0 ? `%${scope >>> 0}` : '');
}

/** RFC 5952: the longest run of zero groups is left out, the first of equals. */
function formatIpv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes[index * 2] << 8 | bytes[index * 2 + 1]);
  if (groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return `::ffff:${bytes[12]}.${bytes[13]}.${bytes[14]}.${bytes[15]}`;
  }
  let start = -1;
  let length = 1;
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (to < 8 && groups[to] === 0) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const text = (part: number[]): string => part.map((group) => group.toString(16)).join(':');
  return start < 0 ? text(groups) : `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}
