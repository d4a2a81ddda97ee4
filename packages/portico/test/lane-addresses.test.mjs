// Socket addresses as `net` writes them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressTable, readAddresses } from '../dist/lane/addresses.js';

/** The address words of a record. */
function words(family, bytes, port = 0, scope = 0) {
  const record = new Int32Array(11);
  record[0] = family | family << 16;
  record[1] = port | port << 16;
  new Uint8Array(record.buffer).set(bytes, 8);
  new Uint8Array(record.buffer).set(bytes, 24);
  record[10] = scope;
  return record;
}

const v6 = (...groups) => groups.flatMap((group) => [group >> 8, group & 0xff]);

const CASES = [
  ['127.0.0.1', 4, [127, 0, 0, 1]],
  ['::', 6, v6(0, 0, 0, 0, 0, 0, 0, 0)],
  ['::1', 6, v6(0, 0, 0, 0, 0, 0, 0, 1)],
  ['::ffff:10.0.0.7', 6, v6(0, 0, 0, 0, 0, 0xffff, 0x0a00, 7)],
  ['2001:db8::1', 6, v6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)],
  ['2001:db8:0:1:1:1:1:1', 6, v6(0x2001, 0xdb8, 0, 1, 1, 1, 1, 1)],
  ['1::2:0:0:3', 6, v6(1, 0, 0, 0, 2, 0, 0, 3)],
  ['fe80::', 6, v6(0xfe80, 0, 0, 0, 0, 0, 0, 0)],
];

for (const [text, family, bytes] of CASES) {
  test(`an address is written ${text}`, () => {
    const addresses = readAddresses(words(family, bytes, 8080), 0);
    assert.equal(addresses.remoteAddress, text);
    assert.equal(addresses.localAddress, text);
    assert.equal(addresses.remoteFamily, `IPv${family}`);
    assert.equal(addresses.remotePort, 8080);
  });
}

test('ports reach to 65535', () => {
  const { remotePort, localPort } = readAddresses(words(4, [1, 2, 3, 4], 65535), 0);
  assert.deepEqual([remotePort, localPort], [65535, 65535]);
});

test('a Unix socket has no address', () => {
  const { remoteAddress, remoteFamily, localAddress } = readAddresses(words(0, []), 0);
  assert.deepEqual([remoteAddress, remoteFamily, localAddress], [undefined, undefined, undefined]);
});

test('a table keeps addresses while it grows, and uses places again', () => {
  const table = new AddressTable();
  const places = Array.from({ length: 1000 }, (_, index) => table.keep(words(4, [10, 0, 0, 1], index), 0));
  places.forEach((place, index) => assert.equal(table.read(place).remotePort, index));
  table.release(places[7]);
  assert.equal(table.keep(words(0, []), 0), places[7]);
  assert.equal(table.read(places[7]).remoteAddress, undefined);
  assert.equal(table.read(places[8]).remotePort, 8);
});
