/** Writes the rows of `tests/wire/` as seeds of the fuzz corpora. */
import { mkdirSync, writeFileSync } from 'node:fs';

import { readCases, unescapeBytes } from '../tests/wire/wire-cases.mjs';

const corpus = `${import.meta.dirname}/corpus`;
/** Longer rows slow a fuzzer down and teach it nothing. */
const MAX_SEED_BYTES = 4096;

function seed(target, name, control, bytes) {
  mkdirSync(`${corpus}/${target}`, { recursive: true });
  writeFileSync(`${corpus}/${target}/row-${name}`, Buffer.concat([Buffer.from(control), bytes]));
}

for (const [index, row] of readCases().entries()) {
  const bytes = unescapeBytes(row.bytes);
  if (bytes.length > MAX_SEED_BYTES) continue;
  seed('h1_request_head', index, [0, 1, 0], bytes);
  const body = bytes.indexOf('\r\n\r\n');
  if (row.file === 'chunked.txt') seed('h1_chunked', index, [3], bytes.subarray(body + 4));
}
