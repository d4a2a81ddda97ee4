// http.websocketMask and http.websocketUnmask, which Portico adds where Node has none, against byte by byte.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { project, run } from './support/programs.mjs';

const { websocketMask, websocketUnmask } = createRequire(import.meta.url)('../dist/http/websocket-mask.js');

const KEY = Buffer.from([0x80, 0x01, 0x7f, 0xfe]);
const LENGTHS = [0, 1, 3, 4, 7, 95, 96, 97, 98, 99, 100, 127, 128, 129, 1000, 16_384, 16_387];

/** Bytes of which no two neighbours are alike. */
const filled = (length) => Buffer.alloc(length).map((_, at) => (at * 37 + (at >> 8)) & 255);
const masked = (bytes) => bytes.map((byte, at) => byte ^ KEY[at & 3]);

test('websocketUnmask takes the mask off at every alignment, and touches no byte beside the payload', () => {
  for (const length of LENGTHS) {
    for (let start = 0; start < 5; start++) {
      const memory = filled(start + length + 9);
      const expected = Buffer.from(memory);
      expected.set(masked(memory.subarray(start, start + length)), start);
      websocketUnmask(memory.subarray(start, start + length), KEY);
      assert.ok(memory.equals(expected), `${length} bytes at ${start}`);
    }
  }
});

test('websocketMask writes where it is told, from every alignment to every alignment', () => {
  for (const length of LENGTHS) {
    for (let start = 0; start < 4; start++) {
      for (let offset = 0; offset < 5; offset++) {
        const source = filled(start + length + 3).subarray(start);
        const output = Buffer.alloc(offset + length + 8, 0xaa);
        const expected = Buffer.from(output);
        expected.set(masked(source.subarray(0, length)), offset);
        websocketMask(source, KEY, output, offset, length);
        assert.ok(output.equals(expected), `${length} bytes from ${start} to ${offset}`);
      }
    }
  }
});

test('websocketMask masks in place, and within one buffer as a loop over its bytes does', () => {
  const same = filled(300);
  const expected = masked(same);
  websocketMask(same, KEY, same, 0, same.length);
  assert.ok(same.equals(expected));
  for (const shift of [1, 4, 8, 128]) {
    const memory = filled(600);
    const loop = Buffer.from(memory);
    for (let at = 0; at < 400; at++) loop[shift + at] = loop[at] ^ KEY[at & 3];
    websocketMask(memory.subarray(0, 400), KEY, memory, shift, 400);
    assert.ok(memory.equals(loop), `moved by ${shift}`);
  }
});

test('a key may lie at any place, and only its first four bytes count', () => {
  const payload = filled(200);
  const expected = masked(payload);
  websocketUnmask(payload, Buffer.concat([Buffer.alloc(3), KEY, Buffer.alloc(2, 9)]).subarray(3));
  assert.ok(payload.equals(expected));
});

test('bytes outside the arguments are refused, and nothing is written', () => {
  const memory = Buffer.from(new ArrayBuffer(1024));
  const inner = memory.subarray(0, 200);
  const outOfRange = { code: 'ERR_OUT_OF_RANGE', name: 'RangeError' };
  assert.throws(() => websocketMask(inner, KEY, Buffer.alloc(1024), 0, 201), outOfRange);
  assert.throws(() => websocketMask(Buffer.alloc(1024, 1), KEY, inner, 0, 201), outOfRange);
  assert.throws(() => websocketMask(Buffer.alloc(1024, 1), KEY, inner, 100, 101), outOfRange);
  for (const wrong of [-1, -4, 1.5, NaN, Infinity]) {
    assert.throws(() => websocketMask(Buffer.alloc(200, 1), KEY, inner, wrong, 100), outOfRange);
    assert.throws(() => websocketMask(Buffer.alloc(200, 1), KEY, inner, 0, wrong), outOfRange);
  }
  assert.throws(() => websocketUnmask(inner, KEY.subarray(0, 3)), outOfRange);
  const wrongType = { code: 'ERR_INVALID_ARG_TYPE', name: 'TypeError' };
  for (const wrong of [undefined, null, 'text', [1, 2, 3, 4], new ArrayBuffer(8), new DataView(new ArrayBuffer(8))]) {
    assert.throws(() => websocketUnmask(wrong, KEY), wrongType);
    assert.throws(() => websocketUnmask(inner, wrong), wrongType);
    assert.throws(() => websocketMask(inner, KEY, wrong, 0, 4), wrongType);
  }
  assert.ok(memory.every((byte) => byte === 0));
});

test('node:http has both once Portico is registered; what it had before stays', async (t) => {
  const folder = project(t, {
    'app.cjs': `const http = require('http'); console.log(typeof http.websocketMask, typeof http.websocketUnmask, typeof require('portico/http').websocketMask);`,
    'before.cjs': `require('http').websocketUnmask = function own() {};`,
    'own.cjs': `console.log(require('http').websocketUnmask.name);`,
  });
  const required = { PORTICO_REQUIRE: '1' };
  assert.equal((await run(folder, ['--import', 'portico/register', 'app.cjs'], required)).stdout, 'function function function\n');
  assert.equal((await run(folder, ['--require', './before.cjs', '--require', 'portico/register', 'own.cjs'], required)).stdout, 'own\n');
});
