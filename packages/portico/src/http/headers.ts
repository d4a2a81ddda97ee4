/**
 * Header fields of a request: from the table that the engine's parser left, to the objects that programs read.
 *
 * The rules for repeated fields are Node's: some names keep the first value, `set-cookie` is a list, `cookie` is joined
 * by `; `, everything else by `, `.
 */

import { Field } from '../generated/layout';
import { FIELD_NAMES } from '../generated/tables';
import { distinctPrototype } from './stock';

/** Names of which the first value wins, unless `joinDuplicateHeaders` is set. */
const FIRST_WINS = new Set(['age', 'host', 'from', 'etag', 'server', 'referer', 'expires', 'location', 'user-agent',
  'retry-after', 'content-type', 'max-forwards', 'authorization', 'last-modified', 'content-length', 'if-modified-since',
  'proxy-authorization', 'if-unmodified-since']);
const SET_COOKIE = 'set-cookie';
const COOKIE = 'cookie';

/** What `req.headers` is. */
export type Headers = Record<string, string | string[] | undefined>;

/** A record's fields: where the table begins, how many there are, and the text that the offsets point into. */
export interface FieldTable {
  words: Int32Array;
  /** Index of the table's first word. */
  at: number;
  count: number;
  text: string;
  /** Offset, from the record's first byte, of the text's first character. */
  base: number;
}

/** The fields as an object, in Node's way; `headers`: what it has already. */
export function readHeaders(table: FieldTable, join: boolean, headers: Headers = {}): Headers {
  const { words, text, base } = table;
  const end = table.at + table.count * Field.WORDS;
  for (let at = table.at; at < end; at += Field.WORDS) {
    const name = fieldName(words, at, text, base);
    const from = words[at + Field.VALUE_OFFSET] - base;
    const value = text.slice(from, from + words[at + Field.VALUE_LENGTH]);
    const before = headers[name];
    if (before === undefined && name !== SET_COOKIE) headers[name] = value;
    else addRepeated(headers, name, before, value, join);
  }
  return headers;
}

function addRepeated(headers: Headers, name: string, before: string | string[] | undefined, value: string, join: boolean): void {
  if (name === SET_COOKIE) {
    if (Array.isArray(before)) before.push(value);
    else headers[name] = [value];
  } else if (typeof before !== 'string') {
    // A name that every object inherits, such as `constructor`.
    headers[name] = value;
  } else if (name === COOKIE) {
    headers[name] = `${before}; ${value}`;
  } else if (join || !FIRST_WINS.has(name)) {
    headers[name] = `${before}, ${value}`;
  }
}

/** Every value of each name. */
export function readDistinct(raw: readonly string[]): Record<string, string[]> {
  const headers = Object.create(distinctPrototype) as Record<string, string[]>;
  for (let at = 0; at < raw.length; at += 2) (headers[raw[at].toLowerCase()] ??= []).push(raw[at + 1]);
  return headers;
}

/** Names and values alternating, as received. */
export function readRaw(table: FieldTable): string[] {
  const { words, text, base } = table;
  const raw: string[] = [];
  const end = table.at + table.count * Field.WORDS;
  for (let at = table.at; at < end; at += Field.WORDS) {
    const name = words[at + Field.NAME_OFFSET] - base;
    const value = words[at + Field.VALUE_OFFSET] - base;
    raw.push(text.slice(name, name + (words[at + Field.NAME_LENGTH] & Field.NAME_LENGTH_MASK)), text.slice(value, value + words[at + Field.VALUE_LENGTH]));
  }
  return raw;
}

/** Value of the first field of a name; undefined if there is none. */
export function readField(table: FieldTable, wanted: string): string | undefined {
  const { words, text, base } = table;
  const end = table.at + table.count * Field.WORDS;
  for (let at = table.at; at < end; at += Field.WORDS) {
    if (fieldName(words, at, text, base) === wanted) {
      return text.slice(words[at + Field.VALUE_OFFSET] - base, words[at + Field.VALUE_OFFSET] - base + words[at + Field.VALUE_LENGTH]);
    }
  }
  return undefined;
}

function fieldName(words: Int32Array, at: number, text: string, base: number): string {
  const known = FIELD_NAMES[words[at + Field.NAME_NUMBER] >>> Field.NAME_NUMBER_SHIFT];
  if (known !== undefined && known !== '') return known;
  const from = words[at + Field.NAME_OFFSET] - base;
  return text.slice(from, from + (words[at + Field.NAME_LENGTH] & Field.NAME_LENGTH_MASK)).toLowerCase();
}
