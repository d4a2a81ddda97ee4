/** What the figures rest on: medians of paired ratios, and the comparison of answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CELLS } from '../harness/cells.mjs';
import { requestSet } from '../harness/requests.mjs';
import { quantile, ratio } from '../harness/statistics.mjs';
import { compareAnswers } from '../harness/wire.mjs';

test('a ratio is the median of the ratios within rounds, not the ratio of medians', () => {
  const rounds = [
    { mine: { cpuUs: 1 }, other: { cpuUs: 2 } },
    { mine: { cpuUs: 30 }, other: { cpuUs: 10 } },
    { mine: { cpuUs: 5 }, other: { cpuUs: 10 } },
  ];
  assert.equal(ratio(rounds, 'mine', 'other', 'cpuUs').median, 0.5);
});

test('rounds that one of the two did not finish, or did at another rate, do not count', () => {
  const rounds = [
    { mine: { p99Us: 1, rate: 10 }, other: { p99Us: 4, rate: 10 } },
    { mine: { p99Us: 1, rate: 10 }, other: { p99Us: 1, rate: 20 } },
    { mine: { p99Us: 1, rate: 10 } },
  ];
  assert.deepEqual(ratio(rounds, 'mine', 'other', 'p99Us'), { median: 0.25, low: 0.25, high: 0.25, count: 1 });
  assert.equal(ratio(rounds, 'mine', 'nobody', 'p99Us'), null);
});

test('quantiles interpolate', () => {
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
  assert.equal(quantile([7], 0.25), 7);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test('answers that differ in the time only are the same', () => {
  const answer = (date) => Buffer.from(`HTTP/1.1 200 OK\r\nDate: ${date}\r\nContent-Length: 1\r\n\r\nx`);
  const [one, other] = [answer('Sat, 21 Nov 2026 21:00:00 GMT'), answer('Sat, 21 Nov 2026 21:00:01 GMT')];
  assert.equal(compareAnswers(one, other).same, true);
});

test('an added header is named, with the length it adds', () => {
  const plain = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx');
  const named = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nServer: s\r\n\r\nx');
  assert.deepEqual(compareAnswers(plain, named), { same: false, text: '+11 bytes: +Server: s' });
});

test('a frame of the WebSocket sets, unmasked, is the message of its echo', () => {
  for (const [name, payload] of [['websocket-64', 64], ['websocket-16k', 16_384]]) {
    const { bytes, requestBytes, answers } = requestSet(name, 21_000);
    const count = bytes.length / requestBytes;
    const answerBytes = answers.length / count;
    for (let index = 0; index < count; index++) {
      const frame = bytes.subarray(index * requestBytes, (index + 1) * requestBytes);
      const echo = answers.subarray(index * answerBytes, (index + 1) * answerBytes);
      const [mask, masked] = [frame.subarray(-payload - 4, -payload), frame.subarray(-payload)];
      assert.deepEqual(Buffer.from(masked.map((byte, at) => byte ^ mask[at % 4])), echo.subarray(-payload));
      assert.equal(frame[1], echo[1] | 0x80, 'only the frame of the client is masked');
    }
  }
});

test('the requests of a set are of one length, and the browser sends ten headers of 800 bytes', () => {
  for (const cell of CELLS) assert.ok(requestSet(cell.request, 21_000).requestBytes > 0);
  const { bytes, requestBytes } = requestSet('browser', 21_000);
  const [, ...headers] = bytes.toString('latin1', 0, requestBytes).trimEnd().split('\r\n');
  assert.equal(headers.length, 10);
  assert.ok(Math.abs(requestBytes - 800) <= 20, `${requestBytes} bytes`);
});
