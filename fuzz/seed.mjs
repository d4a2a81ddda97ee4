/** Writes the rows of `tests/wire/` and of the router, and what clients of TLS say first, as seeds of the fuzz corpora. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Duplex } from 'node:stream';
import tls from 'node:tls';

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

/** The blocks of the rows of HPACK, one connection a seed. */
const hpackRows = readFileSync(`${import.meta.dirname}/../crates/portico-http/tests/rows/hpack.txt`, 'utf8');
for (const [index, connection] of hpackRows.split('\ntable ').slice(1).entries()) {
  const size = Math.min(255, Math.ceil(Number.parseInt(connection, 10) / 20));
  const blocks = [...connection.matchAll(/^(?:block|error) ((?:[0-9a-f]{2,}\b ?)+)/gm)].map(([, hex]) => Buffer.from(hex.replaceAll(' ', ''), 'hex'));
  seed('h2_hpack', index, [size], Buffer.concat(blocks.flatMap((block) => [Buffer.from([block.length]), block])));
}

/** A frame of each kind (RFC 9113, section 6), with flags and padding. */
const FRAMES = [
  '000005 01 25 00000001 8000000010', '00000a 01 2c 00000003 02 0000000110 8284 0000', '000005 02 00 00000005 0000000310',
  '000004 03 00 00000001 00000008', '00000c 04 00 00000000 0001 00001000 0004 0000ffff', '000000 04 01 00000000',
  '000005 05 04 00000001 00000002 82', '000008 06 00 00000000 0102030405060708', '00000b 07 00 00000000 00000007 0000000b 776879',
  '000004 08 00 00000001 00000400', '000002 09 04 00000001 8284', '000007 10 00 00000000 00000005 753d31',
  '00000b 0a 00 00000000 0005 68743a61 62 68333d31', '000003 0c 00 00000000 0001 61', '000001 fa 00 00000000 00',
];
for (const [index, frame] of FRAMES.entries()) seed('h2_frames', index, [], Buffer.from(frame.replaceAll(' ', ''), 'hex'));

/** Operations of a client and an application: see `crates/portico-http/tests/h2_session/model`. */
const SESSIONS = [
  [0, 1, 1, 0, 4, 0, 1, 128, 0, 0, 130, 0, 0, 40, 132, 0, 0, 140, 0, 0, 40, 7],
  [1, 1, 0, 1, 4, 0, 1, 4, 0, 1, 200, 0, 0, 0, 0, 135, 0, 0, 40, 128, 0, 1],
  [0, 1, 1, 0, 4, 0, 1, 8, 0, 1, 40, 0, 0, 7, 0, 0, 0, 137, 0, 0, 1, 1, 0, 4],
  [2, 11, 0, 1, 10, 0, 1, 0, 2, 1, 1, 0, 4, 0, 1, 128, 0, 0, 133, 0, 0, 143, 0, 0, 0, 142, 0, 0, 254, 140, 0, 0, 254, 9],
  [6, 1, 1, 0, 4, 0, 1, 139, 0, 0, 128, 0, 0, 130, 0, 0, 90, 140, 0, 0, 90, 3, 13, 0, 1, 0, 5, 3, 0, 1, 0, 4, 9],
];
for (const [index, operations] of SESSIONS.entries()) seed('h2_session', index, operations, Buffer.alloc(0));

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

/** Field lines of a request and of a response that a cache decides about. */
const requests = [
  'Cache-Control: max-age=5, min-fresh=2, max-stale\r\n',
  'Pragma: no-cache\r\nAccept-Language: fr;q=0.5, de;q=1.0\r\nFoo: 1, 2\r\n',
  'Range: bytes=0-1, 3-, -2\r\nIf-Range: "a"\r\n',
  'If-None-Match: "b", W/"a"\r\nIf-Modified-Since: Fri, 15 Jan 2027 07:00:00 GMT\r\n',
  'If-Match: *\r\nIf-Unmodified-Since: Friday, 15-Jan-27 07:00:00 GMT\r\nX: /x?a=1&b=2&a=3\r\n',
];
const responses = [
  'Cache-Control: max-age=10, s-maxage=5, stale-while-revalidate=5, stale-if-error=9\r\nETag: "a"\r\n',
  'Cache-Control: no-cache="a, b", private="c", must-understand, no-store\r\nVary: Foo, Accept-Language\r\n',
  'CDN-Cache-Control: max-age=9;a="b", ext=tok, :aGk=:, no-cache=?0\r\nContent-Language: de\r\nVary: *\r\n',
  'Expires: Fri Jan 15 08:10:00 2027\r\nDate: Fri, 15 Jan 2027 07:59:00 GMT\r\nAge: 30, 5\r\n',
  'Last-Modified: Fri, 15 Jan 2027 07:00:00 GMT\r\nLocation: ../x/./y?z\r\nContent-Location: //h/a\r\nSet-Cookie: a=b\r\n',
];
for (const [index, request] of requests.entries()) {
  for (const [other, response] of responses.entries()) {
    seed('cache_decisions', `${index}-${other}`, [10, index * 8 + other], Buffer.from(`${request}\r\n${response}`));
  }
}

/** The first bytes of Node's client with these options. */
function clientHello(options) {
  return new Promise((resolve) => {
    const socket = new Duplex({ read() {}, write: (bytes) => resolve(bytes) });
    tls.connect({ socket, ...options }).on('error', () => {});
  });
}

const CLIENTS = [
  { servername: 'localhost' },
  { servername: 'localhost', maxVersion: 'TLSv1.2' },
  { servername: 'localhost', ALPNProtocols: ['h2', 'http/1.1'] },
  { minVersion: 'TLSv1.3', ecdhCurve: 'P-384', ciphers: 'TLS_AES_128_GCM_SHA256' },
];
for (const [index, options] of CLIENTS.entries()) {
  for (const flags of [0, 1, 2, 7]) seed('tls_hostile_peer', `hello-${index}-${flags}`, [0, flags, 100], await clientHello(options));
}

/** The same in records of `size` bytes. */
function split(hello, size) {
  const records = [];
  for (let at = 5; at < hello.length; at += size) {
    const part = hello.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, 0, part.length]), part);
  }
  return Buffer.concat(records);
}

/** With a suite and an extension more, whose lengths are set right: a fallback (RFC 7507) that renegotiates (RFC 5746). */
function fallBack(hello) {
  const suites = 44 + hello[43]; // behind record, message, version, random and session id
  const extensions = suites + 2 + hello.readUInt16BE(suites) + 2;
  const scsv = Buffer.from([0x56, 0]);
  const info = Buffer.from([0xff, 1, 0, 2, 1, 7]);
  const parts = [hello.subarray(0, suites + 2), scsv, hello.subarray(suites + 2, extensions + 2), info, hello.subarray(extensions + 2)];
  const changed = Buffer.concat(parts);
  changed.writeUInt16BE(changed.length - 5, 3);
  changed.writeUIntBE(changed.length - 9, 6, 3);
  changed.writeUInt16BE(hello.readUInt16BE(suites) + 2, suites);
  changed.writeUInt16BE(hello.readUInt16BE(extensions) + 6, extensions + 2);
  return changed;
}

for (const [index, options] of CLIENTS.entries()) {
  const hello = await clientHello(options);
  seed('tls_hostile_peer', `split-${index}`, [0, 0, 100], split(hello, 9));
  seed('tls_hostile_peer', `fallback-${index}`, [0, 0, 100], fallBack(hello));
}

/** Steps on open connections, and changed handshakes: see `crates/portico-tls/tests/support/hostile.rs`. */
const STEPS = [
  [1, 0], [1, 1], [1, 4, 0, 0, 0, 1, 6, 200], [1, 16], [1, 17], [1, 31, 1, 0, 6, 9],
  [1, 32, 1, 46, 224], [1, 32, 2, 16, 0, 16, 0, 0, 100], [1, 36, 3, 64, 0, 64, 0, 64, 0], [1, 32, 1, 4, 0, 1, 2, 5, 23, 60],
  [1, 0, 1, 0, 6, 1, 1], [1, 1, 1, 0, 6, 1, 1], [1, 0, 0, 0, 1, 0, 5, 22, 3, 20, 0, 0], [1, 17, 0, 0, 1, 0, 5, 24, 1, 0],
  [1, 0, 0, 0, 1, 0, 5, 20, 1, 2], [1, 16, 0, 0, 1, 0, 0, 0, 3, 127],
  [2, 0, 1, 1, 0, 0, 9, 1], [2, 1, 1, 2, 1, 0, 9, 1], [2, 0, 2, 0, 4, 1, 3, 3, 1, 2, 3], [2, 0, 1, 1, 4],
  [3, 0, 0, 2, 72, 105, 3, 2, 7, 64, 0, 4, 1, 1, 0], [3, 1, 1, 3, 1, 2, 3, 0, 4, 9, 80, 0, 6],
  [3, 0, 3, 0, 3, 1, 4, 1, 0, 9, 3, 5, 0, 1, 65, 0], [3, 0, 7, 22, 5, 24, 0, 0, 1, 1, 0, 0, 1, 65, 0],
  [3, 0, 17, 0, 3, 0, 9, 23, 0, 0, 0, 0, 0, 0, 0, 129],
  [3, 8, 7, 21, 2, 1, 0, 0, 8, 5, 23, 3, 3, 0, 1], [3, 9, 9, 3, 2, 1, 2, 2, 3, 4, 1, 0, 1, 4],
];
for (const [index, steps] of STEPS.entries()) seed('tls_hostile_peer', `steps-${index}`, steps, Buffer.alloc(0));

/** A good chain with 0 to 3 authorities, faults in it, copies, lists, and changed bytes: see `crates/portico-x509/tests/support`. */
const FAULTS = [
  [0, 0], [1, 1], [2, 2], [3, 0], [3, 1, 1, 1, 0, 1], [2, 1, 1, 1, 1, 4, 2], [2, 0, 1, 1, 2, 2, 0], [2, 2, 1, 2, 6, 2, 3],
  [1, 1, 2, 1, 7, 0, 0, 2, 9, 0, 3], [2, 0, 0, 1, 1, 0, 0, 1], [2, 0, 0, 2, 1, 3, 1, 1, 1, 5, 2, 1, 2, 1, 2, 0, 0, 3],
  [1, 0, 1, 0, 14, 1, 1], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 3],
];
for (const [index, faults] of FAULTS.entries()) {
  seed('x509_hostile_chain', `faults-${index}`, faults, Buffer.alloc(0));
  const padded = Buffer.alloc(40 - faults.length);
  seed('x509_hostile_chain', `changes-${index}`, faults, Buffer.concat([padded, Buffer.from([2, 0, 0, 90, 7, 4, 3, 0, 1, 20, 0, 6])]));
}

/** Operations of a member: see `crates/portico-dispatch/tests/support/hostile.rs`. */
const OPERATIONS = [
  [0, 0, 0, 1, 2, 2, 10, 12, 0, 2, 0, 0, 0, 12, 1, 1, 12, 2, 4, 0, 0, 5, 1, 3, 14, 0, 0, 10, 5],
  [0, 0, 10, 13, 1, 1, 12, 0, 2, 0, 0, 1, 5], [1, 0, 10, 8, 1, 255, 0, 0, 0, 9, 5], [2, 0, 10, 12, 0, 0, 4, 0, 0, 0, 3, 65, 66, 67],
  [0, 0, 6, 0, 16, 0, 0, 4, 255, 255, 255, 255, 9, 15, 0, 14, 0, 0, 10, 12, 0, 5, 0, 0, 0],
  [3, 0, 4, 71, 69, 84, 32, 0, 1, 10, 11, 1, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0],
];
for (const [index, operations] of OPERATIONS.entries()) {
  seed('channel_application_side', `operations-${index}`, operations, Buffer.alloc(0));
  seed('channel_host_side', `pieces-${index}`, operations, Buffer.from([255, 0, 12, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0]));
}

/** Lines of the control protocol, as `crates/portico-host` has them in its tests. */
const register = (prefix) => ({ type: 'register', protocol: 2, layout: 2, prefix, process: { pid: 7, program: 'a.js', node: '20.0.0' } });
const reserve = (prefix, users) => ({ type: 'reserve', action: 'add', prefix, users, groups: [], everyone: false, delegate: true });
const CONVERSATIONS = [
  [register('http://*:8080/1/'), { type: 'leave' }, { type: 'status' }, { type: 'stop' }],
  [register('http://*:8080/'), register('http://*:8080/a/'), { type: 'status' }, register('https://*:8080/')],
  [reserve('http://+:80/a/', ['10000', '10001']), register('http://+:80/a/b/'), reserve('http://+:80/', ['10000'])],
  [register('http://a.test:8080/'), { type: 'stop', drain_ms: 5 }, { type: 'certificate', action: 'list' }, { type: 'upgrade', program: '/p' }],
];
for (const [index, lines] of CONVERSATIONS.entries()) {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  for (const first of [0, 0x1f, 0xf3]) seed('control_registry', `talk-${index}-${first}`, [first], Buffer.from(text));
}
