// Command records, byte for byte.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandWriter } from '../dist/lane/writer.js';
import * as layout from '../dist/generated/layout.js';

/** A writer whose submissions are noted. */
function setUp() {
  const submitted = [];
  const writer = new CommandWriter(new Int32Array(8), false);
  writer.connect({ submit: (length, external) => submitted.push({ bytes: Buffer.from(writer.bytes.subarray(0, length)), external }) });
  return { writer, submitted };
}

/** The records in a submission. */
function records(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at)) {
    const size = bytes.readInt32LE(at);
    assert.ok(size >= 12 && size % 4 === 0 && at + size <= bytes.length, `record of ${size} bytes at ${at}`);
    const record = bytes.subarray(at, at + size);
    found.push({ kind: record.readInt32LE(4) & 0xff, flags: record.readUInt32LE(4) >>> 8, record });
  }
  return found;
}

test('a response carries its head and its body', () => {
  const { writer, submitted } = setUp();
  writer.respond(7, 3, layout.RESPONSE_FLAG_END, 201, 0, 'Made', 'A: b\r\n', 'héllo', 6, undefined, 6);
  writer.submit();
  const [{ kind, flags, record }] = records(submitted[0].bytes);
  assert.deepEqual([kind, flags], [layout.COMMAND_RESPOND, layout.RESPONSE_FLAG_END]);
  assert.deepEqual([...Array(9).keys()].map((word) => record.readInt32LE(8 + word * 4)), [7, 3, 201, 0, 4, 6, 6, 6, 0]);
  assert.equal(record.subarray(44, 60).toString(), 'MadeA: b\r\nhéllo');
});

test('a head goes out as Latin-1, or encoded with the text it shares a write with', () => {
  const { writer, submitted } = setUp();
  writer.respond(1, 1, 0, 200, 0, 'OK', 'A: é\r\n', Buffer.from('x'), 1, undefined, 1);
  writer.respond(1, 1, 0, 200, 0, 'OK', 'A: é\r\n', 'x', 1, undefined, 1);
  writer.respond(1, 1, layout.RESPONSE_FLAG_CHUNKED, 200, 0, 'OK', 'A: é\r\n', 'x', 1, undefined, 1);
  writer.submit();
  const lengths = records(submitted[0].bytes).map(({ record }) => record.readInt32LE(28));
  assert.deepEqual(lengths, [6, 7, 6]);
});

test('text of every length and encoding arrives as its bytes', () => {
  const { writer, submitted } = setUp();
  const texts = ['', 'a', 'a'.repeat(31), 'a'.repeat(32), 'a'.repeat(5000), 'ü'.repeat(20), '€'.repeat(100), '😀'];
  for (const text of texts) {
    writer.submit();
    submitted.length = 0;
    for (const encoding of [undefined, 'utf8', 'utf16le', 'latin1', 'base64']) {
      const expected = Buffer.from(text, encoding);
      writer.data(1, 1, 0, text, expected.length, encoding);
      writer.submit();
      const [{ record }] = records(submitted.at(-1).bytes);
      assert.equal(record.readInt32LE(16), expected.length);
      assert.deepEqual(record.subarray(20, 20 + expected.length), expected);
    }
  }
});

test('a large body goes by reference, as the last record of its submission', () => {
  const { writer, submitted } = setUp();
  const body = Buffer.alloc(100_000, 'x');
  writer.aboutRequest(layout.COMMAND_PAUSE, 1, 0);
  writer.data(1, 1, layout.RESPONSE_FLAG_END, body, body.length, undefined);
  assert.equal(submitted.length, 1);
  const found = records(submitted[0].bytes);
  assert.equal(found.length, 2);
  assert.equal(found[1].flags, layout.RESPONSE_FLAG_END | layout.RESPONSE_FLAG_EXTERNAL);
  assert.equal(submitted[0].external, body);
});

test('an interim response carries its status and its fields', () => {
  const { writer, submitted } = setUp();
  writer.inform(7, 3, layout.RESPONSE_FLAG_ACK, 103, 'Early Hints', 'Link: </é>\r\n');
  writer.submit();
  const [{ kind, flags, record }] = records(submitted[0].bytes);
  assert.deepEqual([kind, flags], [layout.COMMAND_INFORM, layout.RESPONSE_FLAG_ACK]);
  assert.deepEqual([...Array(5).keys()].map((word) => record.readInt32LE(8 + word * 4)), [7, 3, 103, 11, 12]);
  assert.equal(record.subarray(28, 51).latin1Slice(), 'Early HintsLink: </é>\r\n');
});

test('an answer that is given up names its request and why', () => {
  const { writer, submitted } = setUp();
  writer.reset(7, 3, layout.RESET_CODE_CANCEL);
  writer.submit();
  const [{ kind, record }] = records(submitted[0].bytes);
  assert.equal(kind, layout.COMMAND_RESET);
  assert.deepEqual([...Array(3).keys()].map((word) => record.readInt32LE(8 + word * 4)), [7, 3, 8]);
});

test('a full buffer is handed over, and nothing is lost', () => {
  const { writer, submitted } = setUp();
  for (let count = 0; count < 100; count += 1) writer.data(1, count, 0, Buffer.alloc(10_000), 10_000, undefined);
  writer.submit();
  const sequences = submitted.flatMap(({ bytes }) => records(bytes)).map(({ record }) => record.readInt32LE(12));
  assert.deepEqual(sequences, [...Array(100).keys()]);
  assert.ok(submitted.length > 1);
});
