/**
 * Holds the rows of `responses.txt` against the http module in use: node:http, or Portico where that is loaded.
 *
 *   node --test tests/framing/check.mjs
 *   PORTICO_REQUIRE=1 node --import ./packages/portico/dist/register.js --test tests/framing/check.mjs
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { observe } from './observe.mjs';

const [, ...rows] = readFileSync(join(import.meta.dirname, 'responses.txt'), 'utf8').split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

test('there are rows', () => assert.ok(rows.length > 50));

for (const [request, status, given, written, added, body, connection] of rows) {
  test(`${request}, ${status}, ${given}, ${written}`, { timeout: 30_000 }, async () => {
    const [method, version] = request.split(' ');
    const fields = given === '-' ? [] : given.split('; ').map((field) => field.split(': '));
    const seen = await observe({ method, version, status: Number(status), fields, written });
    assert.deepEqual(seen, { added, body, connection });
  });
}
