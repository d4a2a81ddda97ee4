// Header fields of a request, from the table that the engine leaves to the objects that programs read.

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { readDistinct, readHeaders, readRaw } from '../dist/http/headers.js';
import { FIELD_NAMES } from '../dist/generated/tables.js';

/** A record's table and text, as the engine writes them. */
function tableOf(fields) {
  const words = new Int32Array(fields.length * 4);
  const base = words.byteLength;
  let text = '';
  fields.forEach(([name, value], index) => {
    const number = Math.max(0, FIELD_NAMES.indexOf(name.toLowerCase()));
    const nameAt = base + text.length;
    text += `${name}: `;
    const valueAt = base + text.length;
    text += `${value}\r\n`;
    words.set([number << 16 | name.length, nameAt, valueAt, value.length], index * 4);
  });
  return { words, at: 0, count: fields.length, text, base };
}

/** What Node's own objects make of the same fields. */
function nodeHeaders(fields, join) {
  const message = new http.IncomingMessage();
  message.joinDuplicateHeaders = join;
  const headers = {};
  for (const [name, value] of fields) message._addHeaderLine(name, value, headers);
  return headers;
}

const CASES = {
  'one of each': [['Host', 'a'], ['X-Other', 'b']],
  'a name in any case': [['hOsT', 'a'], ['ACCEPT', 'x'], ['x-OWN', 'y']],
  'repeated, joined by a comma': [['Accept', 'a'], ['accept', 'b'], ['X-A', '1'], ['x-a', '2'], ['x-a', '3']],
  'repeated cookies, joined by a semicolon': [['Cookie', 'a=1'], ['cookie', 'b=2']],
  'set-cookie is a list': [['Set-Cookie', 'a'], ['set-cookie', 'b']],
  'a single set-cookie is a list': [['Set-Cookie', 'a']],
  'the first wins': ['Age', 'Authorization', 'Content-Length', 'Content-Type', 'ETag', 'Expires', 'From', 'Host',
    'If-Modified-Since', 'If-Unmodified-Since', 'Last-Modified', 'Location', 'Max-Forwards', 'Proxy-Authorization',
    'Referer', 'Retry-After', 'Server', 'User-Agent'].flatMap((name) => [[name, 'first'], [name, 'second']]),
  'names that every object inherits': [['constructor', 'a'], ['constructor', 'b'], ['toString', 'c']],
  'empty values': [['X-A', ''], ['X-A', ''], ['Host', ''], ['Host', 'b']],
};

for (const join of [false, true]) {
  for (const [name, fields] of Object.entries(CASES)) {
    test(`headers are Node's: ${name}${join ? ', joinDuplicateHeaders' : ''}`, () => {
      assert.deepEqual(readHeaders(tableOf(fields), join), nodeHeaders(fields, join));
    });
  }
}

test('raw headers keep order, case and repetitions', () => {
  assert.deepEqual(readRaw(tableOf([['B', '1'], ['a', '2'], ['B', '3']])), ['B', '1', 'a', '2', 'B', '3']);
});

test('distinct headers list every value under the lower-cased name', () => {
  assert.deepEqual({ ...readDistinct(['Host', 'a', 'X-B', '1', 'x-b', '2']) }, { host: ['a'], 'x-b': ['1', '2'] });
});
