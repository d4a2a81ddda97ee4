/**
 * The head of a response: from what the program set to a `Head`, and from there to the flags by which the engine
 * completes it (Date, Connection, Keep-Alive, Content-Length or Transfer-Encoding, in this order, as in Node).
 */

import { Buffer } from 'node:buffer';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import * as layout from '../generated/layout';
import * as field from '../lane/templates';
import type { Head } from '../lane/templates';
import { trailerInvalid } from './errors';
import type { Exchange } from './exchange';
import type { Field } from './header-fields';
import type { Response } from './server-response';
import { kOutHeaders, kUniqueHeaders } from './stock';
import { beginAtMethod } from '../node/stack';

type HeaderMap = Record<string, [string, unknown]>;
/** What `writeHead` takes: an object, or an array of names and values alternating or in pairs. */
export type HeaderArgument = Record<string, unknown> | unknown[] | undefined | null;

const CLOSE = /(?:^|\W)close(?:$|\W)/i;
const CHUNKED = /(?:^|\W)chunked(?:$|\W)/i;

/** In place of fields: those that were set before count. */
export const SET_BEFORE: HeaderArgument = [];
const NO_FIELDS: Field[] = [];

/** Fixes the response's head. `headers` is what `writeHead` was given, or `SET_BEFORE`. */
export function storeHead(response: Response, exchange: Exchange, status: number, reason: string, headers: HeaderArgument): void {
  let head: Head;
  try {
    head = makeHead(response, exchange, status, reason, headers);
    decideFraming(response, exchange, head);
  } catch (error) {
    throw beginAtMethod(error);
  }
  exchange.head = head;
}

function makeHead(response: Response, exchange: Exchange, status: number, reason: string, headers: HeaderArgument): Head {
  return headers === SET_BEFORE && exchange.hasMap
    ? headOfMap(response, exchange, status, reason)
    : Array.isArray(headers) && headers !== SET_BEFORE
      ? headOfArray(response, status, reason, headers)
      : headers === SET_BEFORE || headers === undefined || headers === null
        ? headOfList(response, exchange, status, reason)
        : headOfObject(response, exchange, status, reason, headers as Record<string, unknown>);
}

function emptyHead(status: number, reason: string): Head {
  return { status, reason, lines: '', bits: 0, contentLength: 0, template: 0 };
}

function headOfList(response: Response, exchange: Exchange, status: number, reason: string): Head {
  const { templates } = exchange.connection.lane;
  const fields = exchange.fields ?? NO_FIELDS;
  const found = templates.findList(status, reason, fields);
  if (found !== undefined) return found;
  const head = emptyHead(status, reason);
  for (const { name, value } of fields) addField(response, head, name, value, false);
  templates.remember(head, () => fields.flatMap(({ name, value }) => [name, value]));
  return head;
}

function headOfMap(response: Response, exchange: Exchange, status: number, reason: string): Head {
  const { templates } = exchange.connection.lane;
  const map = response[kOutHeaders] as HeaderMap | null;
  const found = templates.findMap(status, reason, map);
  if (found !== undefined) return found;
  const head = emptyHead(status, reason);
  if (map !== null) for (const key in map) addField(response, head, map[key][0], map[key][1], false);
  templates.remember(head, () => Object.values(map ?? {}).flat());
  return head;
}

function headOfObject(response: Response, exchange: Exchange, status: number, reason: string, headers: Record<string, unknown>): Head {
  const { templates } = exchange.connection.lane;
  const found = templates.findObject(status, reason, headers);
  if (found !== undefined) return found;
  const head = emptyHead(status, reason);
  for (const key in headers) {
    if (Object.hasOwn(headers, key)) addField(response, head, key, headers[key], true);
  }
  templates.remember(head, () => Object.entries(headers).flat());
  return head;
}

function headOfArray(response: Response, status: number, reason: string, headers: unknown[]): Head {
  const head = emptyHead(status, reason);
  addArray(response, head, headers);
  return head;
}

function addArray(response: Response, head: Head, headers: unknown[]): void {
  if (headers.length > 0 && Array.isArray(headers[0])) {
    for (const entry of headers as [string, unknown][]) addField(response, head, entry[0], entry[1], true);
    return;
  }
  for (let at = 0; at < headers.length; at += 2) addField(response, head, headers[at] as string, headers[at + 1], true);
}

function addField(response: Response, head: Head, name: string, value: unknown, validate: boolean): void {
  if (validate) validateHeaderName(name);
  if ((response._contentLength || head.contentLength) && name.length === 19 && name.toLowerCase() === 'content-disposition') value = asLatin1(value);
  if (!Array.isArray(value)) {
    addLine(head, name, value, validate);
    return;
  }
  const unique = response[kUniqueHeaders] as Set<string> | null;
  const isCookie = name.length === 6 && name.toLowerCase() === 'cookie';
  if ((value.length < 2 || !isCookie) && !unique?.has(name.toLowerCase())) {
    for (const one of value) addLine(head, name, one, validate);
  } else {
    addLine(head, name, value.join('; '), validate);
  }
}

/** RFC 6266, section 4.3: with a known length the value travels as the bytes of its Latin-1 form. */
function asLatin1(value: unknown): unknown {
  if (!Array.isArray(value)) return Buffer.from(value as string, 'latin1');
  for (let index = 0; index < value.length; index++) value[index] = Buffer.from(value[index] as string, 'latin1');
  return value;
}

function addLine(head: Head, name: string, value: unknown, validate: boolean): void {
  if (validate) validateHeaderValue(name, value as string);
  head.lines += `${name}: ${value as string}\r\n`;
  const { length } = name;
  if (length < 4 || length > 17) return;
  switch (name.toLowerCase()) {
    case 'connection':
      head.bits |= field.FIELD_CONNECTION | (CLOSE.test(String(value)) ? field.FIELD_CONNECTION_CLOSE : field.FIELD_CONNECTION_OTHER);
      break;
    case 'transfer-encoding':
      head.bits |= field.FIELD_TRANSFER_ENCODING | (CHUNKED.test(String(value)) ? field.FIELD_CHUNKED : 0);
      break;
    case 'content-length':
      head.bits |= field.FIELD_CONTENT_LENGTH;
      head.contentLength = Number(value);
      break;
    case 'date': head.bits |= field.FIELD_DATE; break;
    case 'trailer': head.bits |= field.FIELD_TRAILER; break;
    case 'keep-alive': head.bits |= field.FIELD_KEEP_ALIVE; break;
    default:
  }
}

/** What the fields say, and what follows for the rest of the head and for the body. Node's decisions, in Node's order. */
function decideFraming(response: Response, exchange: Exchange, head: Head): void {
  const { bits } = head;
  let flags = 0;
  if (bits !== 0) applyFields(response, head);
  if (response.sendDate && (bits & field.FIELD_DATE) === 0) flags |= layout.RESPONSE_FLAG_DATE;
  if (response.chunkedEncoding && (head.status === 204 || head.status === 304)) {
    response.chunkedEncoding = false;
    response.shouldKeepAlive = false;
  }
  flags |= connectionFlags(response, bits);
  if ((bits & (field.FIELD_CONTENT_LENGTH | field.FIELD_TRANSFER_ENCODING)) === 0) flags |= lengthFlags(response, exchange, bits);
  if ((bits & field.FIELD_TRAILER) !== 0 && !response.chunkedEncoding) throw trailerInvalid();
  if (response.chunkedEncoding && response._hasBody) flags |= layout.RESPONSE_FLAG_CHUNKED;
  if (response._last) flags |= exchange.connection.closeFlag;
  exchange.headFlags = flags;
}

function applyFields(response: Response, head: Head): void {
  const { bits } = head;
  if ((bits & field.FIELD_CONNECTION) !== 0) {
    response._removedConnection = false;
    if ((bits & field.FIELD_CONNECTION_CLOSE) !== 0) response._last = true;
    if ((bits & field.FIELD_CONNECTION_OTHER) !== 0) response.shouldKeepAlive = true;
  }
  if ((bits & field.FIELD_TRANSFER_ENCODING) !== 0) {
    response._removedTE = false;
    if ((bits & field.FIELD_CHUNKED) !== 0) response.chunkedEncoding = true;
  }
  if ((bits & field.FIELD_CONTENT_LENGTH) !== 0) {
    response._contentLength = head.contentLength;
    response._removedContLen = false;
  }
  if ((bits & field.FIELD_KEEP_ALIVE) !== 0) response._defaultKeepAlive = false;
}

function connectionFlags(response: Response, bits: number): number {
  if (response._removedConnection) {
    response._last = !response.shouldKeepAlive;
    return 0;
  }
  if ((bits & field.FIELD_CONNECTION) !== 0) return 0;
  const keep = response.shouldKeepAlive && ((bits & field.FIELD_CONTENT_LENGTH) !== 0 || response.useChunkedEncodingByDefault);
  if (keep && !response.maxRequestsOnConnectionReached) {
    const tells = response._keepAliveTimeout && response._defaultKeepAlive;
    return layout.RESPONSE_FLAG_CONNECTION_KEEP_ALIVE | (tells ? layout.RESPONSE_FLAG_KEEP_ALIVE : 0);
  }
  if (!keep) response._last = true;
  return layout.RESPONSE_FLAG_CONNECTION_CLOSE;
}

function lengthFlags(response: Response, exchange: Exchange, bits: number): number {
  if (!response._hasBody) {
    response.chunkedEncoding = false;
    return 0;
  }
  if (!response.useChunkedEncodingByDefault) {
    response._last = true;
    return 0;
  }
  if ((bits & field.FIELD_TRAILER) === 0 && !response._removedContLen && typeof response._contentLength === 'number') {
    exchange.contentLength = response._contentLength;
    return layout.RESPONSE_FLAG_CONTENT_LENGTH;
  }
  if (!response._removedTE) {
    response.chunkedEncoding = true;
    return layout.RESPONSE_FLAG_TRANSFER_ENCODING;
  }
  // Neither field: the body ends where the connection does.
  response._last = true;
  return 0;
}

/** The head as text, as Node keeps it in `_header`. Date is that of now. */
export function renderHead(response: Response, exchange: Exchange): string {
  const head = exchange.head as Head;
  const flags = exchange.headFlags;
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n${head.lines}`;
  if ((flags & layout.RESPONSE_FLAG_DATE) !== 0) text += `Date: ${new Date().toUTCString()}\r\n`;
  if ((flags & layout.RESPONSE_FLAG_CONNECTION_CLOSE) !== 0) text += 'Connection: close\r\n';
  if ((flags & layout.RESPONSE_FLAG_CONNECTION_KEEP_ALIVE) !== 0) text += 'Connection: keep-alive\r\n';
  if ((flags & layout.RESPONSE_FLAG_KEEP_ALIVE) !== 0) {
    const max = ~~response._maxRequestsPerSocket;
    text += `Keep-Alive: timeout=${Math.floor(response._keepAliveTimeout / 1000)}${max > 0 ? `, max=${max}` : ''}\r\n`;
  }
  if ((flags & layout.RESPONSE_FLAG_CONTENT_LENGTH) !== 0) text += `Content-Length: ${exchange.contentLength}\r\n`;
  if ((flags & layout.RESPONSE_FLAG_TRANSFER_ENCODING) !== 0) text += 'Transfer-Encoding: chunked\r\n';
  return `${text}\r\n`;
}
