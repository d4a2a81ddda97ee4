/** Checks what the rows say about node:http against the node:http of this very Node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { nodeVerdict } from './node-verdict.mjs';
import { readCases, unescapeBytes } from './wire-cases.mjs';

const before94 = /^9\.[0-3]\./.test(process.versions.llhttp);

for (const row of readCases()) {
  test(`${row.file}:${row.line} ${row.name}`, async () => {
    assert.equal('why' in row, 'node' in row, 'a row says why if and only if node:http differs');
    assert.notEqual(row.node, row.portico, 'a verdict of node:http that is the same is left out');
    const expected = (before94 && row['node-9.3']) || row.node || row.portico;
    const { verdict, fields } = await nodeVerdict(unescapeBytes(row.bytes), expected);
    assert.equal(verdict, expected);
    if (row.fields !== undefined) assert.equal(fields, row.fields);
  });
}
