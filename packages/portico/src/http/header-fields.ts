/**
 * Header fields of a response as a short list, for the programs that only set and get.
 *
 * Node keeps them in a map without prototype, keyed by lower-cased name: each `setHeader` makes a string, looks it up
 * and stores under a name the engine of JavaScript has not seen, which costs more than the rest of a small answer. The
 * list holds the fields in the map's order. Whoever wants the map (Node's other methods do) gets it made at first touch,
 * and from then on there is only the map.
 */

import { type Exchange, kExchange } from './exchange';
import type { Response } from './server-response';
import { kOutHeaders, stockResponse } from './stock';
import { callStock } from '../node/stack';

/** A name that Node's check has passed. */
interface KnownName {
  /** Lower-cased. */
  readonly key: string;
  /** A value that Node's check has passed under this name, the latest. */
  valid: string;
}

/** A field that was set: key, name as given, value. */
export interface Field {
  readonly key: string;
  name: string;
  value: string | number;
}

type HeaderMap = Record<string, [string, unknown]>;
type Stock = Record<'setHeader' | 'getHeader' | 'hasHeader', (this: Response, name: unknown, value?: unknown) => unknown>;

const stock = stockResponse as Stock;
const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** Programs use few names; one that makes them up gets Node's way. */
const NAMES = 256;
const names = new Map<string, KnownName>();

/** Defines the methods and the map's accessor. */
export function defineHeaderFields(prototype: object): void {
  for (const [name, value] of Object.entries({ setHeader, getHeader, hasHeader })) {
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
  Object.defineProperty(prototype, kOutHeaders, {
    configurable: true,
    get(this: Response): HeaderMap | null {
      const exchange = this[kExchange];
      return exchange === undefined || exchange.fields === null ? null : toMap(this, exchange, exchange.fields);
    },
    set(this: Response, value: unknown): void {
      const exchange = this[kExchange];
      if (exchange !== undefined) {
        exchange.fields = null;
        exchange.hasMap = true;
      }
      Object.defineProperty(this, kOutHeaders, { value, writable: true, configurable: true });
    },
  });
}

/** The list becomes the map that Node's methods know. */
function toMap(response: Response, exchange: Exchange, fields: Field[]): HeaderMap {
  const map = Object.create(null) as HeaderMap;
  for (const { key, name, value } of fields) map[key] = [name, value];
  exchange.fields = null;
  exchange.hasMap = true;
  Object.defineProperty(response, kOutHeaders, { value: map, writable: true, configurable: true });
  return map;
}

function setHeader(this: Response, name: string, value: unknown): Response {
  const exchange = this[kExchange];
  const known = names.get(name);
  if (exchange === undefined || known === undefined || exchange.hasMap || exchange.head !== null
    || !(typeof value === 'number' || typeof value === 'string' && (value === known.valid || isValid(known, value)))) {
    return setSlowly(this, name, value);
  }
  const { key } = known;
  const { fields } = exchange;
  if (fields === null) {
    exchange.fields = [{ key, name, value }];
    return this;
  }
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index];
    if (field.key === key) {
      field.name = name;
      field.value = value;
      return this;
    }
  }
  fields.push({ key, name, value });
  return this;
}

function isValid(known: KnownName, value: string): boolean {
  if (INVALID_VALUE.test(value)) return false;
  known.valid = value;
  return true;
}

/** Node's method, with its checks and errors. A name that passed them is known from now on. */
function setSlowly(response: Response, name: unknown, value: unknown): Response {
  callStock(() => stock.setHeader.call(response, name, value));
  // Names that look like numbers are ordered otherwise by the map.
  if (names.size < NAMES && typeof name === 'string' && !names.has(name) && !/^\d+$/.test(name)) {
    names.set(name, { key: name.toLowerCase(), valid: '' });
  }
  return response;
}

function find(fields: Field[], name: string): Field | undefined {
  const key = names.get(name)?.key ?? name.toLowerCase();
  for (let index = 0; index < fields.length; index++) {
    if (fields[index].key === key) return fields[index];
  }
  return undefined;
}

function getHeader(this: Response, name: string): unknown {
  const exchange = this[kExchange];
  if (exchange === undefined || exchange.hasMap || typeof name !== 'string') return stock.getHeader.call(this, name);
  return exchange.fields === null ? undefined : find(exchange.fields, name)?.value;
}

function hasHeader(this: Response, name: string): boolean {
  const exchange = this[kExchange];
  if (exchange === undefined || exchange.hasMap || typeof name !== 'string') return stock.hasHeader.call(this, name) as boolean;
  return exchange.fields !== null && find(exchange.fields, name) !== undefined;
}
