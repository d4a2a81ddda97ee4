/**
 * Heads that repeat.
 *
 * A response head is compared with the last few by value; one that came again is kept by the engine under a number,
 * and later responses send the number. Nothing is compared by the identity of the program's objects.
 */

import { TEMPLATE_BYTES } from '../generated/layout';
import type { CommandWriter } from './writer';

/** What the fields of a head say about the message, gathered when they were written down. */
export interface Head {
  status: number;
  reason: string;
  /** Field lines as they go on the wire. */
  lines: string;
  /** Bits `FIELD_*` below. */
  bits: number;
  /** Of the field Content-Length; NaN if it is not a number. */
  contentLength: number;
  /** Number the engine knows it by; 0: none yet. */
  template: number;
}

/** Bits of `Head.bits`: which fields are there, and what they say. */
export const FIELD_CONNECTION = 1;
export const FIELD_CONNECTION_CLOSE = 2;
export const FIELD_CONNECTION_OTHER = 4;
export const FIELD_TRANSFER_ENCODING = 8;
export const FIELD_CHUNKED = 16;
export const FIELD_CONTENT_LENGTH = 32;
export const FIELD_DATE = 64;
export const FIELD_TRAILER = 128;
export const FIELD_KEEP_ALIVE = 256;

/** Names and values of a head: alternating. */
export type FieldList = unknown[];

interface Entry extends Head {
  fields: FieldList;
}

/** Heads compared with. More would cost each head that never repeats. */
const PLACES = 4;
/** Of the heads that match none, one in so many is remembered. */
const REMEMBER_EVERY = 4;
/** Template numbers are 1 to 255. */
const NUMBERS = 255;
// eslint-disable-next-line no-control-regex
const NOT_ASCII = /[^\x00-\x7f]/;

/** The heads that one engine knows by number, and the last few that it might. */
export class Templates {
  readonly #writer: CommandWriter;
  readonly #entries: Entry[] = [];
  #place = 0;
  #misses = 0;
  #number = 0;

  constructor(writer: CommandWriter) {
    this.#writer = writer;
  }

  /** The head made of the fields set with `setHeader`, if it came before. */
  findList(status: number, reason: string, list: readonly { name: string; value: unknown }[]): Head | undefined {
    const entries = this.#entries;
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index];
      if (entry.status === status && entry.reason === reason && sameList(entry.fields, list)) return this.#seen(entry);
    }
    return undefined;
  }

  /** The same, where Node's map of them exists. */
  findMap(status: number, reason: string, map: Record<string, [string, unknown]> | null): Head | undefined {
    const entries = this.#entries;
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index];
      if (entry.status === status && entry.reason === reason && sameMap(entry.fields, map)) return this.#seen(entry);
    }
    return undefined;
  }

  /** The head made of `writeHead`'s object, if it came before. */
  findObject(status: number, reason: string, object: Record<string, unknown>): Head | undefined {
    const entries = this.#entries;
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index];
      if (entry.status === status && entry.reason === reason && sameObject(entry.fields, object)) return this.#seen(entry);
    }
    return undefined;
  }

  /** Offers a head that was found nowhere. `fields` is called only if it will be remembered. */
  remember(head: Head, fields: () => FieldList): void {
    if (this.#misses++ % REMEMBER_EVERY !== 0) return;
    if (head.lines.length + head.reason.length > TEMPLATE_BYTES) return;
    // Text beyond ASCII is encoded with the body that it shares a write with.
    if (NOT_ASCII.test(head.lines) || NOT_ASCII.test(head.reason)) return;
    const list = fields();
    // Objects could change under the comparison.
    if (list.some((value) => typeof value === 'object' || typeof value === 'function')) return;
    // Responses that hold the entry which leaves send its text again: its number may come to mean another head.
    const leaving = this.#entries[this.#place];
    if (leaving !== undefined) leaving.template = 0;
    this.#entries[this.#place] = { ...head, fields: list };
    this.#place = (this.#place + 1) % PLACES;
  }

  /** A head that came again gets its number. The engine's old head under that number is replaced in order. */
  #seen(entry: Entry): Head {
    if (entry.template === 0) {
      this.#number = this.#number % NUMBERS + 1;
      const { lines, reason } = entry;
      for (const other of this.#entries) if (other.template === this.#number) other.template = 0;
      entry.template = this.#number;
      this.#writer.template(this.#number, reason, lines);
    }
    return entry;
  }
}

function sameList(fields: FieldList, list: readonly { name: string; value: unknown }[]): boolean {
  const { length } = list;
  if (fields.length !== length * 2) return false;
  for (let index = 0; index < length; index++) {
    const field = list[index];
    if (fields[index * 2] !== field.name || fields[index * 2 + 1] !== field.value) return false;
  }
  return true;
}

function sameMap(fields: FieldList, map: Record<string, [string, unknown]> | null): boolean {
  let at = 0;
  if (map !== null) {
    for (const key in map) {
      const entry = map[key];
      if (fields[at] !== entry[0] || fields[at + 1] !== entry[1]) return false;
      at += 2;
    }
  }
  return at === fields.length;
}

function sameObject(fields: FieldList, object: Record<string, unknown>): boolean {
  let at = 0;
  for (const key in object) {
    if (fields[at] !== key || fields[at + 1] !== object[key]) return false;
    at += 2;
  }
  return at === fields.length;
}
