/**
 * Compares the verdicts of Portico and of node:http's parser on random requests: rows of this folder and pieces of
 * requests, put together and damaged. Differences that the rows explain are counted; any other fails.
 *
 *   node --expose-internals tests/wire/compare-random.mjs [COUNT] [SEED]
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { parserVerdict } from './parser-verdict.mjs';
import { escapeBytes, readCases, unescapeBytes } from './wire-cases.mjs';

const count = Number(process.argv[2] ?? 50_000);
const seed = Number(process.argv[3] ?? 1);
const MAX_ROW_BYTES = 300;

const lines = ['GET / HTTP/1.1\r\n', 'POST /a?b=c#d HTTP/1.0\r\n', 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', 'CONNECT a:1 HTTP/1.1\r\n',
  'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', 'GET http://a@b:1/c HTTP/1.1\r\n', '', '\r\n\n', 'GET '];
const pieces = ['\r\n', '\n', '\r', ' ', '\t', ':', '\0', '\x7f', '\x80', ',', ';', '"', '=', '5', 'a', 'Host: a\r\n',
  'Content-Length: 5\r\n', 'content-length:\r\n', 'Content-Length: 1 2\r\n', 'Content-Length: 18446744073709551616\r\n',
  'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'transfer-encoding: ,\r\n',
  'Transfer-Encoding: chunked \t\r\n', 'Transfer-Encoding: x ,chunked , y\r\n', 'Connection: keep-alive\r\n',
  'connection: x,close \t,y\r\n', 'Connection: upgrade\r\n', 'Proxy-Connection: close\r\n', 'Upgrade: a\r\n',
  'Expect: 100-continue\r\n', 'X-Unknown-And-Rather-Long-Name: value\r\n', 'a: b\r\n', 'a:\r\n', 'Accept: */* \r\n',
  'Cookie: a\tb\r\n', ' folded\r\n', '\tfolded\r\n', 'X : b\r\n', 'Connection : x\r\n', '5\r\nhello\r\n', '0\r\n\r\n',
  '0\r\na: b\r\n\r\n', 'ff;a="b\\"c"\r\n', '5;a=b;c\r\n', 'hello', '\r\n\r\n', 'chunked', 'close', 'x-y: z'];
const damage = ' \t\r\n:;,=/?#@%[]"\\aZ09\0\x01\x7f\x80\xff-_.';
const rows = readCases().map((row) => unescapeBytes(row.bytes).toString('latin1'))
  .filter((bytes) => bytes.length <= MAX_ROW_BYTES);

/** Differences that rows with a `why` explain: what Portico says, and where needed what node:http says. */
const explained = [
  (portico) => /: (Invalid HTTP version|Expected HTTP\/2 Connection Preface|Invalid method for HTTP)/.test(portico),
  (portico) => portico.startsWith('HPE_INVALID_TRANSFER_ENCODING: Request has invalid `Transfer-Encoding`'),
  (portico) => /: Expected HTTP\/, RTSP\/ or ICE\//.test(portico),
  (portico, node) => portico === node.replace(/^(\S+ \S+ HTTP\/1\.0 \S+) keep-alive/, '$1 close'),
  // Where a word that llhttp knows for RTSP departs from the method's.
  (portico, node) => portico.startsWith('HPE_INVALID_METHOD') && node.startsWith('HPE_INVALID_METHOD'),
];

let state = BigInt(seed) * 2654435769n + 88172645463325252n;
function random(below) {
  state ^= (state << 13n) & 0xffffffffffffffffn;
  state ^= state >> 7n;
  state ^= (state << 17n) & 0xffffffffffffffffn;
  state &= 0xffffffffffffffffn;
  return Number((state >> 8n) % BigInt(below));
}

function randomRequest() {
  let text = random(3) === 0 ? rows[random(rows.length)] : lines[random(lines.length)];
  for (let left = random(7); left > 0; left--) text += pieces[random(pieces.length)];
  if (random(2) === 0) text += '\r\n';
  for (let left = random(3); left > 0; left--) {
    const at = random(text.length + 1);
    const skipped = random(2);
    const inserted = random(3) > 0 ? damage[random(damage.length)] : '';
    text = text.slice(0, at) + inserted + text.slice(at + skipped);
  }
  return Buffer.from(text, 'latin1');
}

const requests = Array.from({ length: count }, randomRequest);
const portico = spawn('cargo', ['run', '-q', '--release', '-p', 'portico-http', '--example', 'verdicts'],
  { stdio: ['pipe', 'pipe', 'inherit'] });
portico.stdin.on('error', () => {});
portico.stdin.end(requests.map((bytes) => `${bytes.toString('hex')}\n`).join(''));

let index = 0;
let known = 0;
let unknown = 0;
for await (const line of createInterface({ input: portico.stdout })) {
  const bytes = requests[index++];
  const [verdict, fields] = line.split('\t');
  const node = parserVerdict(bytes);
  if (verdict === node.verdict && fields === node.fields) continue;
  if (explained.some((explains) => explains(verdict, node.verdict))) {
    known++;
    continue;
  }
  unknown++;
  console.log(`${escapeBytes(bytes)}\n  portico: ${verdict} | ${fields}\n  node:    ${node.verdict} | ${node.fields}`);
}
console.log(`${index} requests: ${index - known - unknown} alike, ${known} unlike as explained, ${unknown} unlike`);
process.exitCode = unknown > 0 || index !== count ? 1 : 0;
