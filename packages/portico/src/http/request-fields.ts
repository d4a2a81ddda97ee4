/** The head of a request as its record has it, and the objects that programs read its fields from. */

import { Buffer } from 'node:buffer';
import { EventRequest, Field, RecordHead, REQUEST_FLAG_COMPLETE, REQUEST_FLAG_UPGRADE } from '../generated/layout';
import { kExchange, type Exchange } from './exchange';
import { readDistinct, readField, readHeaders, readRaw, type FieldTable, type Headers } from './headers';
import { limitsRawHeaders, stockRequest } from './stock';

/** A request, as far as its fields go. */
interface Fields {
  [kExchange]?: Exchange;
  rawHeaders: string[];
}

/** The head's field table, with as many fields as are told. The text is made once. */
function table(exchange: Exchange, most = exchange.connection.server.maxFields): FieldTable {
  const { slab: { words, bytes }, at } = exchange;
  const fields = words[at + EventRequest.FIELD_COUNT];
  const count = Math.min(fields, most);
  // Payload begins after the table.
  const base = EventRequest.BYTES + fields * Field.BYTES;
  const start = at << 2;
  exchange.text ??= bytes.latin1Slice(start + base, start + words[at + RecordHead.SIZE]);
  return { words, at: at + EventRequest.WORDS, count, text: exchange.text, base };
}

/** The head as received, blank line included. */
export function headBytes({ slab: { words, bytes }, at }: Exchange): Buffer {
  const fields = words[at + EventRequest.FIELD_COUNT];
  const start = at << 2;
  const last = at + EventRequest.WORDS + (fields - 1) * Field.WORDS;
  // Behind the last value, or the version of a request line without fields.
  const behind = fields > 0
    ? words[last + Field.VALUE_OFFSET] + words[last + Field.VALUE_LENGTH]
    : words[at + EventRequest.TARGET_OFFSET] + words[at + EventRequest.TARGET_LENGTH];
  const end = bytes.indexOf('\r\n\r\n', start + behind) + 4;
  return Buffer.from(bytes.subarray(start + EventRequest.BYTES + fields * Field.BYTES, end));
}

/** The request's target as received, whatever the program has made of `req.url`. */
export function requestTarget({ slab: { words, bytes }, at }: Exchange): string {
  const start = (at << 2) + words[at + EventRequest.TARGET_OFFSET];
  return bytes.latin1Slice(start, start + words[at + EventRequest.TARGET_LENGTH]);
}

/** Value of a request's field without making the header object. */
export function requestField(exchange: Exchange, name: string): string | undefined {
  return readField(table(exchange), name);
}

/** Older versions of Node tell a list of fields in parts of so many, and the part that `maxHeadersCount` is in as a whole. */
const PART_FIELDS = 31;

/** Names and values as received. */
export function rawHeaders(exchange: Exchange): string[] {
  const { maxFields } = exchange.connection.server;
  const raw = readRaw(table(exchange, limitsRawHeaders ? maxFields : Math.ceil(maxFields / PART_FIELDS) * PART_FIELDS));
  return exchange.connection.isStream ? [...impliedFields(exchange), ...raw] : raw;
}

/**
 * What a stream's request says without a field, as names and values: the authority that it is for, and that it has a body
 * whose length is not known, which programs written for HTTP/1 find out by `transfer-encoding`.
 */
function impliedFields(exchange: Exchange): string[] {
  const fields: string[] = [];
  const host = authority(exchange);
  if (host !== '' && requestField(exchange, 'host') === undefined) fields.push('host', host);
  const isMeasured = (exchange.flags & (REQUEST_FLAG_COMPLETE | REQUEST_FLAG_UPGRADE)) !== 0 || requestField(exchange, 'content-length') !== undefined;
  if (!isMeasured) fields.push('transfer-encoding', 'chunked');
  return fields;
}

function authority({ slab: { words, bytes }, at }: Exchange): string {
  const start = (at << 2) + words[at + EventRequest.AUTHORITY_OFFSET];
  return bytes.latin1Slice(start, start + words[at + EventRequest.AUTHORITY_LENGTH]);
}

/** Fields in the place of those that were received. */
export function giveFields(exchange: Exchange, request: object, raw: string[]): void {
  (request as Fields).rawHeaders = raw;
  const headers: Headers = {};
  addLines(exchange, raw, headers);
  exchange.headers = headers;
}

/** Fields by name, from what a program may have put in place of those that were received. */
function distinct(exchange: Exchange, { rawHeaders: raw }: Fields): Record<string, string[]> {
  const most = exchange.connection.server.maxFields * 2;
  return readDistinct(raw.length > most ? raw.slice(0, most) : raw);
}

/** The version: what stands before the dot. */
export function majorVersion(exchange: Exchange): number {
  const word = exchange.slab.words[exchange.at + EventRequest.MAJOR_VERSION];
  return word >>> EventRequest.MAJOR_VERSION_SHIFT & EventRequest.MAJOR_VERSION_MASK;
}

/** And behind it. */
export function minorVersion(exchange: Exchange): number {
  const word = exchange.slab.words[exchange.at + EventRequest.MINOR_VERSION];
  return word >>> EventRequest.MINOR_VERSION_SHIFT & EventRequest.MINOR_VERSION_MASK;
}

/** The trailers have come: whoever has looked at them before sees them. */
export function receiveTrailers(exchange: Exchange, raw: string[]): void {
  exchange.rawTrailers = raw;
  const seen = exchange.views?.['trailers'];
  if (seen !== undefined) joinTrailers(exchange, seen as Headers);
}

/** Defines `headers`, `trailers` and their distinct forms. As in Node, nothing in their place has them made again. */
export function defineFields(prototype: object): void {
  const stockHeaders = stockAccessor('headers');
  Object.defineProperty(prototype, 'headers', {
    configurable: true,
    get(this: Fields): unknown {
      const exchange = this[kExchange];
      if (exchange === undefined) return stockHeaders.get?.call(this);
      return exchange.headers ??= readHeaders(table(exchange), joins(exchange),
        exchange.connection.isStream ? addLines(exchange, impliedFields(exchange), {}) : undefined);
    },
    set(this: Fields, value: Exchange['headers']): void {
      const exchange = this[kExchange];
      if (exchange === undefined) stockHeaders.set?.call(this, value);
      else exchange.headers = value || undefined;
    },
  });
  view(prototype, 'headersDistinct', distinct);
  view(prototype, 'trailersDistinct', (exchange) => readDistinct(exchange.rawTrailers ?? []));
  view(prototype, 'trailers', (exchange) => joinTrailers(exchange, {}));
}

/** An accessor over a view of the fields that is made when it is first asked for. */
function view(prototype: object, name: string, read: (exchange: Exchange, request: Fields) => unknown): void {
  const stock = stockAccessor(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: Fields): unknown {
      const exchange = this[kExchange];
      if (exchange === undefined) return stock.get?.call(this);
      return (exchange.views ??= {})[name] ??= read(exchange, this);
    },
    set(this: Fields, value: unknown): void {
      const exchange = this[kExchange];
      if (exchange === undefined) stock.set?.call(this, value);
      else (exchange.views ??= {})[name] = value || undefined;
    },
  });
}

function stockAccessor(name: string): PropertyDescriptor {
  return Object.getOwnPropertyDescriptor(stockRequest, name) ?? {};
}

function joins(exchange: Exchange): boolean {
  return exchange.connection.server.server.joinDuplicateHeaders === true;
}

function joinTrailers(exchange: Exchange, into: Headers): Headers {
  return addLines(exchange, exchange.rawTrailers ?? [], into);
}

function addLines(exchange: Exchange, raw: string[], into: Headers): Headers {
  const add = stockRequest._addHeaderLine as (this: object, name: string, value: string, into: Headers) => void;
  for (let at = 0; at < raw.length; at += 2) add.call({ joinDuplicateHeaders: joins(exchange) }, raw[at], raw[at + 1], into);
  return into;
}
