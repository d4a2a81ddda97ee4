/** Header fields of `node:http2`: objects with pseudo fields, to and from the lines of records. */

import { constants, sensitiveHeaders } from 'node:http2';
import { validateHeaderName, validateHeaderValue } from 'node:http';
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
export function headOf(given: unknown, sendDate: boolean): Head {
  const { status, sent } = statusOf(given, sendDate);
  return { status, lines: linesOf(sent, (name) => name === ':status'), sent };
}

/** The same before its fields are looked at. @throws Node's errors */
export function statusOf(given: unknown, sendDate: boolean): Omit<Head, 'lines'> {
  const sent = copyOf(given);
  const status = Number(sent[':status']) | 0 || constants.HTTP_STATUS_OK;
  sent[':status'] = status;
  if ((sent['date'] === undefined || sent['date'] === null) && sendDate) sent['date'] = new Date().toUTCString();
  if (status < 200 || status > 599) throw errors.invalidStatus(sent[':status']);
  const sensitive = sent[sensitiveHeaders];
  if (sensitive !== undefined && !Array.isArray(sensitive)) throw errors.invalidValue('headers[http2.neverIndex]', sensitive);
  return { status, sent };
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

/** Lines of fields, as records have them. Pseudo fields that are allowed have words of their own there. @throws Node's errors */
export function linesOf(fields: Fields, allowsPseudo: (name: string) => boolean): string {
  let lines = '';
  const seen = new Set<string>();
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value === undefined || key === '') continue;
    const name = key.toLowerCase();
    const values = Array.isArray(value) ? value as unknown[] : [value];
    if (values.length === 0) continue;
    if (SINGLE.has(name) && (values.length > 1 || seen.has(name))) throw errors.singleValue(name);
    seen.add(name);
    if (name.startsWith(':')) {
      if (!allowsPseudo(name)) throw errors.invalidPseudoField(name);
      continue;
    }
    checkName(name, values[0]);
    for (const one of values) {
      const text = String(one);
      validateHeaderValue(name, text);
      lines += `${name}: ${text}\r\n`;
    }
  }
  return lines;
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
