/** What a server sends, as bytes, and how that differs from what node:http sends for the same request. */
import net from 'node:net';
import tls from 'node:tls';

const TIMEOUT_MS = 10_000;

/**
 * @param {Buffer} request what is sent; an upgrade is taken to be over with its head
 * @returns {Promise<Buffer>} the first answer's bytes.
 */
export function rawAnswer(port, request, secure) {
  return new Promise((resolve, reject) => {
    const socket = secure
      ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
      : net.connect(port, '127.0.0.1');
    let bytes = Buffer.alloc(0);
    const finish = (error) => {
      socket.destroy();
      if (error) reject(error);
      else resolve(bytes);
    };
    socket.setTimeout(TIMEOUT_MS, () => finish(new Error('no whole answer in time')));
    socket.on('error', finish);
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (isWhole(bytes)) finish();
    });
    socket.on('end', () => finish(isWhole(bytes) ? undefined : new Error('the answer was cut short')));
    socket.write(request);
  });
}

function isWhole(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const head = bytes.toString('latin1', 0, end + 2);
  if (head.startsWith('HTTP/1.1 101')) return true;
  const length = /^content-length: *(\d+)\r$/im.exec(head);
  if (length) return bytes.length >= end + 4 + Number(length[1]);
  return bytes.indexOf('\r\n0\r\n\r\n', end) >= 0;
}

const withoutTime = (bytes) => bytes.toString('latin1').replace(/^(date: ).*\r$/im, '$1...\r');

/**
 * Differences of two answers, Date's value aside.
 * @returns {{ same: boolean, text: string }} `text` for the table
 */
export function compareAnswers(reference, bytes) {
  const [expected, actual] = [reference, bytes].map(withoutTime);
  if (expected === actual) return { same: true, text: 'same bytes' };
  const [expectedLines, actualLines] = [expected, actual].map((text) => text.split('\r\n'));
  const missing = expectedLines.filter((line) => !includesLine(actualLines, line));
  const added = actualLines.filter((line) => !includesLine(expectedLines, line));
  const words = [...missing.map((line) => `−${short(line)}`), ...added.map((line) => `+${short(line)}`)];
  const difference = bytes.length - reference.length;
  const size = difference === 0 ? 'same length' : `${difference > 0 ? '+' : '−'}${Math.abs(difference)} bytes`;
  return { same: false, text: `${size}: ${words.join(', ') || 'order or case of the headers'}` };
}

const includesLine = (lines, line) => lines.some((other) => other.toLowerCase() === line.toLowerCase());
const short = (line) => (line.length > 40 ? `${line.slice(0, 37)}...` : line);
