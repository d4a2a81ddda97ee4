// What a client is told whose handshake breaks the protocol: the alerts of node:https (which the reference run of these
// tests holds true), and which of them are sealed.

import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';
import { clientHello, records } from './support/client-hello.mjs';
import { once, serve } from './support/https.mjs';

const pair = certificates().issue('server');
const tls13 = await clientHello({});
const tls12 = await clientHello({ maxVersion: 'TLSv1.2' });

const ALERT = 21;
const HANDSHAKE = 22;
/** Alerts (RFC 8446, 6). */
const [UNEXPECTED, OVERFLOW, FAILURE, ILLEGAL, VERSION, FALLBACK, MISSING] = [10, 22, 40, 47, 70, 86, 109];

/** A hello with some extensions changed, or (undefined) left out. */
function changed(hello, extensions, more = {}) {
  const list = new Map([...extensions.map(([kind, content]) => [kind, Buffer.from(content ?? [])]), ...hello.extensions]);
  for (const [kind, content] of extensions) {
    if (content === undefined) list.delete(kind);
    else list.set(kind, Buffer.from(content));
  }
  return records({ ...hello, ...more, extensions: list });
}

const without = (kind) => changed(tls13, [[kind, undefined]]);
const fallingBack = (hello) => records({ ...hello, suites: Buffer.concat([hello.suites, Buffer.from([0x56, 0])]) });
const plain = (...bytes) => Buffer.from(bytes);

/** What is sent first, and the alert that comes for it. */
const FIRST = [
  ['a record of an unknown type', plain(24, 3, 3, 0, 1, 0), UNEXPECTED],
  ['a ChangeCipherSpec', plain(20, 3, 3, 0, 1, 1), UNEXPECTED],
  ['application data', plain(23, 3, 3, 0, 1, 0), UNEXPECTED],
  ['a record that is too long', plain(22, 3, 1, 0x7f, 0xff, 0, 0), OVERFLOW],
  ['a ClientHello of 16 MB', plain(22, 3, 1, 0, 5, 1, 0xff, 0, 0, 3), ILLEGAL],
  ['TLS 1.3 without key_share', without(51), MISSING],
  ['TLS 1.3 without supported_groups', without(10), MISSING],
  ['TLS 1.3 without signature_algorithms', without(13), MISSING],
  ['a renegotiation', changed(tls12, [[0xff01, [1, 7]]]), FAILURE],
  ['a fallback to TLS 1.2', fallingBack(tls12), FALLBACK],
  ['no version that there is', changed(tls13, [[43, [2, 0x7a, 0x7a]]]), VERSION],
];

/** What is let through. */
const GOOD = [
  ['a fallback to the highest version', fallingBack(tls13)],
  ['a renegotiation in TLS 1.3, which has none', changed(tls13, [[0xff01, [1, 7]]])],
  ['an old version beside a new one', changed(tls12, [[43, [2, 3, 3]]], { version: plain(3, 2) })],
  ['a ClientHello in records of one byte', records(tls13, 1)],
];

/** What comes in the place of the client's second flight. */
const SECOND = [
  ['a record of an unknown type', plain(24, 3, 3, 0, 1, 0), UNEXPECTED],
  ['a ChangeCipherSpec that is none', plain(20, 3, 3, 0, 1, 2), UNEXPECTED],
  ['a record that is too long', plain(22, 3, 3, 0x7f, 0xff), OVERFLOW],
];

/** Sends the parts, each after an answer to the one before; gives the records that came, and how it was told of. */
async function converse(t, ...parts) {
  const server = await serve(t, pair);
  const told = once(server, 'tlsClientError');
  const socket = net.connect(server.address().port, '127.0.0.1');
  let received = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    const next = parts.shift();
    if (next) socket.write(next);
  });
  socket.write(parts.shift());
  const [error] = await told;
  if (!socket.destroyed) await once(socket, 'close');
  return { last: lastRecord(received), code: error.code };
}

function lastRecord(bytes) {
  let record;
  while (bytes.length > 0) {
    record = bytes.subarray(0, 5 + bytes.readUInt16BE(3));
    bytes = bytes.subarray(record.length);
  }
  return record;
}

for (const [name, bytes, alert] of FIRST) {
  test(`${name} at first gets the alert ${alert}`, async (t) => {
    const { last, code } = await converse(t, bytes);
    assert.deepEqual([last[0], ...last.subarray(5)], [ALERT, 2, alert]);
    assert.match(code, /^ERR_SSL_/);
  });
}

for (const [name, bytes] of GOOD) {
  test(`${name} is answered`, async (t) => {
    const server = await serve(t, pair);
    const socket = net.connect(server.address().port, '127.0.0.1');
    socket.write(bytes);
    const [answer] = await once(socket, 'data');
    socket.destroy();
    assert.equal(answer[0], HANDSHAKE);
  });
}

for (const [name, bytes, alert] of SECOND) {
  test(`${name} after TLS 1.2's first flight gets the alert ${alert}`, async (t) => {
    const { last } = await converse(t, records(tls12), bytes);
    assert.deepEqual([last[0], ...last.subarray(5)], [ALERT, 2, alert]);
  });
  test(`${name} after TLS 1.3's gets an alert that is sealed`, async (t) => {
    const { last } = await converse(t, records(tls13), bytes);
    // Two bytes, the type, and the tag.
    assert.deepEqual([last[0], last.length], [23, 5 + 19]);
  });
}

test('a Finished message in the clear gets an alert that is sealed', async (t) => {
  const finished = Buffer.concat([plain(22, 3, 3, 0, 52, 20, 0, 0, 48), Buffer.alloc(48)]);
  const { last } = await converse(t, records(tls13), finished);
  assert.deepEqual([last[0], last.length], [23, 5 + 19]);
});
