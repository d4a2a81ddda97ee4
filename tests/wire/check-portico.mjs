/**
 * Checks what the rows say about Portico against the whole of it: the engine, the add-on and the JavaScript lane, by
 * sockets, in the same way as `check-node.mjs` checks node:http.
 *
 *   node --import ./packages/portico/dist/register.js tests/wire/check-portico.mjs
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';

import { nodeVerdict } from './node-verdict.mjs';
import { readCases, unescapeBytes } from './wire-cases.mjs';

const before94 = /^9\.[0-3]\./.test(process.versions.llhttp);
/** Where a head or a trailer section grows too large depends on how much of it had been read when it was looked at. */
const withoutOverflowOffset = (verdict) => verdict.replace(/^(HPE_HEADER_OVERFLOW: .*) @\d+$/, '$1');

test('portico is loaded', () => {
  assert.ok(Object.hasOwn(http.Server.prototype, '_handle'), 'use --import ./packages/portico/dist/register.js');
});

for (const row of readCases()) {
  test(`${row.file}:${row.line} ${row.name}`, async () => {
    const { verdict, fields } = await nodeVerdict(unescapeBytes(row.bytes), row.portico);
    // With too many fields the JavaScript lane does as the Node that it runs in.
    const ofThisNode = before94 && row.portico.startsWith('HPE_HEADER_OVERFLOW') && row['node-9.3'];
    assert.equal(withoutOverflowOffset(verdict), withoutOverflowOffset(ofThisNode || row.portico));
    if (row.fields !== undefined) assert.equal(fields, row.fields);
  });
}
