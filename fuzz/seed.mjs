/** Writes the rows of `tests/wire/` and of the router as seeds of the fuzz corpora. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

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

/** `\xNN`, `\\` and `\(text*N)`, as in the rows of the router. */
function unescapeRow(text) {
  const bytes = text.replaceAll(/\\(?:x(..)|\((.*?)\*(\d+)\)|\\)/g, (all, hexadecimal, what, count) => {
    if (hexadecimal) return String.fromCharCode(Number.parseInt(hexadecimal, 16));
    return what ? what.repeat(Number(count)) : '\\';
  });
  return Buffer.from(bytes, 'latin1');
}

function routerRows(file) {
  const text = readFileSync(`${import.meta.dirname}/../crates/portico-router/tests/rows/${file}`, 'utf8');
  return text.split('\n').filter((line) => line && !line.startsWith('#'));
}

for (const [index, row] of routerRows('prefix.txt').entries()) {
  const prefix = unescapeRow(row.slice(0, row.indexOf(' => ')));
  seed('url_prefix_and_lookup', `prefix-${index}`, [0], Buffer.concat([prefix, Buffer.from('\n\na\n/')]));
}
let table = '';
for (const [index, row] of routerRows('lookup.txt').entries()) {
  if (row.startsWith('table ')) {
    table = row.slice(6).replaceAll('!', '').replaceAll(' ', '\n');
    continue;
  }
  const words = row.slice(0, row.indexOf(' => ')).split(' ');
  const option = (name) => words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
  const address = { '::1': 1, '::ffff:127.0.0.1': 2, '10.0.0.1': 3 }[option('ip')] ?? 0;
  const connection = (option('scheme') ? 1 : 0) | (words.includes('nohost') ? 4 : 0) | (address << 3);
  const bytes = unescapeRow(`${table}\n\n${option('host') ?? 'localhost'}\n${words.at(-1)}`);
  if (bytes.length <= MAX_SEED_BYTES) seed('url_prefix_and_lookup', `lookup-${index}`, [connection], bytes);
}
