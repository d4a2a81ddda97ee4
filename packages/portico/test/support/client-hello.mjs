// A ClientHello taken apart and put together again (RFC 8446, 4.1.2).

import { Duplex } from 'node:stream';
import { tls } from './https.mjs';

/** The first bytes of Node's client with these options, taken apart. */
export function clientHello(options) {
  return new Promise((resolve) => {
    const socket = new Duplex({ read() {}, write: (bytes) => resolve(parse(bytes)) });
    tls.connect({ socket, servername: 'localhost', ...options }).on('error', () => {});
  });
}

function parse(bytes) {
  let at = 9; // behind the headers of record and message
  const take = (length) => bytes.subarray(at, (at += length));
  const vector = () => take(take(2).readUInt16BE());
  const version = take(2);
  const middle = take(33 + bytes[at + 32]); // random, and session id with its length
  const suites = vector();
  take(4); // one compression method, and the length of the extensions
  const extensions = new Map();
  while (at < bytes.length) extensions.set(take(2).readUInt16BE(), vector());
  return { version, middle, suites, extensions };
}

const u16 = (number) => Buffer.from([number >> 8, number & 255]);
const vector = (bytes) => Buffer.concat([u16(bytes.length), bytes]);

/** The message in records of at most so many bytes. */
export function records({ version, middle, suites, extensions }, most = 16_384) {
  const list = [...extensions].map(([kind, content]) => Buffer.concat([u16(kind), vector(content)]));
  const parts = [version, middle, vector(suites), Buffer.from([1, 0]), vector(Buffer.concat(list))];
  const message = Buffer.concat([Buffer.from([1, 0]), vector(Buffer.concat(parts))]);
  const out = [];
  for (let at = 0; at < message.length; at += most) {
    out.push(Buffer.from([22, 3, 1]), vector(message.subarray(at, at + most)));
  }
  return Buffer.concat(out);
}
