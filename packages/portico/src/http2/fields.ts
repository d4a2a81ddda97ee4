/** Header fields of `node:http2`: objects with pseudo fields, to and from the lines of records. */

import { constants, sensitiveHeaders } from 'node:http2';
import { validateHeaderName } from 'node:http';
import * as errors from './errors';

/** As `node:http2` shows and takes them. */
export type Fields = Record<string | symbol, unknown>;

/** Names that a section has once. */
const SINGLE = new Set([
  ':status', ':method', ':authority', ':scheme', ':path', ':protocol', 'access-control-allow-credentials', 'access-control-max-age',
  'access-control-request-method', 'age', 'authorization', 'content-encoding', 'content-language', 'content-length', 'content-location',
  'content-md5', 'content-range', 'content-type', 'date', 'dnt', 'etag', 'expires', 'from', 'host', 'if-match', 'if-modified-since',
  'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'range', 'referer',
  'retry-after', 'tk', 'upgrade-insecure-requests', 'user-agent', 'x-content-type-options',
]);
/** Names that HTTP/1 has for the connection (RFC 9113, section 8.2.2). */
const OF_CONNECTION = new Set(['connection', 'upgrade', 'http2-settings', 'keep-alive', 'proxy-connection', 'transfer-encoding']);

/** What of an answer's head goes into its record. */
export interface Head {
  status: number;
  /** `name: value` lines. */
  lines: string;
  /** As the program sees them afterwards. */
  sent: Fields;
}

/** The head of an answer. @throws Node's errors */
export function headOf(given: unknown, sendDate: boolean, isStrict: boolean): Head {
  if (Array.isArray(given)) return headOfList(given as unknown[], sendDate, isStrict);
  const { status, sent } = statusOf(given, sendDate);
  return { status, lines: linesOf(sent, (name) => name === ':status', isStrict), sent };
}

/** The same of names and values alternating, whose order and repetitions are sent as they are. */
function headOfList(list: unknown[], sendDate: boolean, isStrict: boolean): Head {
  const names = list.filter((_, at) => at % 2 === 0).map((name) => String(name).toLowerCase());
  const values = (at: number): unknown => list[at * 2 + 1];
  const statusAt = names.lastIndexOf(':status');
  const status = Number(values(statusAt)) | 0 || constants.HTTP_STATUS_OK;
  // As in Node, the program's list gets them.
  if (statusAt < 0) list.unshift(':status', status);
  if (sendDate && !names.includes('date')) list.push('date', new Date().toUTCString());
  checkHead(status, status, (list as unknown as Fields)[sensitiveHeaders]);
  return { status, lines: linesOfList(list, isStrict), sent: listAsSent(list) };
}

function listAsSent(list: unknown[]): Fields {
  const sent = Object.create(null) as Fields;
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] as string;
    const before = sent[name];
    const value = list[at + 1];
    if (before === undefined) sent[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else sent[name] = [before, value];
  }
  return sent;
}

function linesOfList(list: readonly unknown[], isStrict: boolean): string {
  let lines = '';
  const seen = new Set<string>();
  for (let at = 0; at < list.length; at += 2) {
    const name = String(list[at]).toLowerCase();
    lines += linesOfField(name, [list[at + 1]], (pseudo) => pseudo === ':status', isStrict && seen.has(name), isStrict);
    seen.add(name);
  }
  return lines;
}

/** The same before its fields are looked at. @throws Node's errors */
export function statusOf(given: unknown, sendDate: boolean): Omit<Head, 'lines'> {
  const sent = copyOf(given);
  const status = Number(sent[':status']) | 0 || constants.HTTP_STATUS_OK;
  sent[':status'] = status;
  if ((sent['date'] === undefined || sent['date'] === null) && sendDate) sent['date'] = new Date().toUTCString();
  checkHead(status, sent[':status'], sent[sensitiveHeaders]);
  return { status, sent };
}

function checkHead(status: number, given: unknown, sensitive: unknown): void {
  if (status < 200 || status > 599) throw errors.invalidStatus(given);
  if (sensitive !== undefined && !Array.isArray(sensitive)) throw errors.invalidValue('headers[http2.neverIndex]', sensitive);
}

/** Fields as an object without a prototype; of a list, repeated ones are joined to arrays. */
export function copyOf(given: unknown, name = 'headers'): Fields {
  const fields = Object.create(null) as Fields;
  if (given === undefined) return fields;
  if (typeof given !== 'object' || given === null) throw errors.invalidType(name, 'of type object', given);
  if (!Array.isArray(given)) return Object.assign(fields, given);
  for (let at = 0; at < given.length; at += 2) {
    const key = String(given[at]).toLowerCase();
    const before = fields[key];
    const value = given[at + 1] as unknown;
    fields[key] = before === undefined ? value : Array.isArray(before) ? [...before as unknown[], value] : [before, value];
  }
  return fields;
}

/**
 * Lines of fields, as records have them. Pseudo fields that are allowed have words of their own there. `isStrict`: names that
 * a section has once may not be repeated.
 *
 * @throws Node's errors
 */
export function linesOf(fields: Fields, allowsPseudo: (name: string) => boolean, isStrict: boolean): string {
  let lines = '';
  const seen = new Set<string>();
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value === undefined || key === '') continue;
    const name = key.toLowerCase();
    lines += linesOfField(name, Array.isArray(value) ? value as unknown[] : [value], allowsPseudo, seen.has(name), isStrict);
    seen.add(name);
  }
  return lines;
}

function linesOfField(name: string, values: readonly unknown[], allowsPseudo: (name: string) => boolean, isRepeated: boolean, isStrict: boolean): string {
  if (values.length === 0) return '';
  if (SINGLE.has(name) && (isStrict || name.startsWith(':')) && (values.length > 1 || isRepeated)) throw errors.singleValue(name);
  if (name.startsWith(':')) {
    if (!allowsPseudo(name)) throw errors.invalidPseudoField(name);
    return '';
  }
  checkName(name, values[0]);
  let lines = '';
  for (const value of values) {
    const text = asSent(String(value));
    if (text !== undefined) lines += `${name}: ${text}\r\n`;
  }
  return lines;
}

/**
 * A value's bytes, one for each character, as Node sends them. Undefined: with them it is no value (RFC 9113, section 8.2.1);
 * Node's goes out all the same, and clients drop it.
 */
function asSent(text: string): string | undefined {
  if (!/[^\t\x20-\x7e\x80-\xff]/.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1').toString('latin1');
  return /[^\t\x20-\x7e\x80-\xff]/.test(bytes) ? undefined : bytes;
}

function checkName(name: string, value: unknown): void {
  try {
    validateHeaderName(name);
  } catch {
    throw errors.invalidToken(name);
  }
  if (OF_CONNECTION.has(name) || name === 'te' && value !== 'trailers') throw errors.connectionField(name);
}

/** What requests and trailers show: names and values alternating, as an object. */
export function objectOf(raw: readonly string[]): Fields {
  const fields = Object.create(null) as Fields;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at];
    const value = raw[at + 1];
    const before = fields[name];
    if (before === undefined) fields[name] = name === 'set-cookie' ? [value] : value;
    else if (name === 'set-cookie') (before as string[]).push(value);
    else if (name === 'cookie') fields[name] = `${before as string}; ${value}`;
    else if (!SINGLE.has(name)) fields[name] = `${before as string}, ${value}`;
  }
  fields[sensitiveHeaders] = [];
  return fields;
}
