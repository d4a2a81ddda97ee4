/**
 * The request bytes of the generator. A set is one or more requests of the same length, sent in turn. A set of another
 * protocol than HTTP has a handshake, and the answers that its requests must get.
 *
 * The browser's requests differ in target and Referer from one to the next, as a person's do: heads that never change
 * flatter a server that compares a head with the one before.
 */

const VARIANTS = 64;
const MEGABYTE = 1024 * 1024;

/**
 * Requests in a row, and the length of each.
 * @returns {{ bytes: Buffer, requestBytes: number, handshake?: Buffer, answers?: Buffer }}
 */
export function requestSet(name, port) {
  const host = `127.0.0.1:${port}`;
  const { requests, handshake, answers } = name in WEBSOCKET_BYTES
    ? websocketSet(host, WEBSOCKET_BYTES[name])
    : { requests: SETS[name](host).map((request) => Buffer.from(request, 'latin1')) };
  for (const row of [requests, answers ?? requests]) {
    if (new Set(row.map((request) => request.length)).size !== 1) throw new Error(`${name} is not of one length`);
  }
  return {
    bytes: Buffer.concat(requests), requestBytes: requests[0].length, handshake, answers: answers && Buffer.concat(answers),
  };
}

/** Bytes of a message in the sets that are echoed over a WebSocket. */
const WEBSOCKET_BYTES = { 'websocket-64': 64, 'websocket-16k': 16 * 1024 };
const BINARY = 0x82;
const MASKED = 0x80;

/** Binary messages, each with a mask and with content of its own, and the frames that they are echoed in. */
function websocketSet(host, bytes) {
  const messages = Array.from({ length: VARIANTS }, (_, index) => Buffer.from({ length: bytes }, (_, at) => index + 31 * at));
  return {
    handshake: Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
      + 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'),
    requests: messages.map((message, index) => maskedFrame(message, Buffer.from([7 + index, 80, 113, 200 - index]))),
    answers: messages.map((message) => Buffer.concat([frameHead(message.length, 0), message])),
  };
}

function maskedFrame(message, mask) {
  return Buffer.concat([frameHead(message.length, MASKED), mask, message.map((byte, at) => byte ^ mask[at & 3])]);
}

/** RFC 6455, 5.2: lengths from 126 on are in two bytes of their own. */
function frameHead(length, masked) {
  return Buffer.from(length < 126 ? [BINARY, masked | length] : [BINARY, masked | 126, length >> 8, length & 255]);
}

const SETS = {
  plain: (host) => [`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
  prefixes: (host) => [1, 2].map((number) => `GET /${number}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
  close: (host) => [`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
  browser: (host) => Array.from({ length: VARIANTS }, (_, index) => browserRequest(host, index)),
  post: (host) => [post(host, 'application/json', jsonBody(1024))],
  upload: (host) => [post(host, 'application/octet-stream', 'x'.repeat(MEGABYTE))],
};

function post(host, type, body) {
  return `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Ten headers, 800 bytes. */
function browserRequest(host, index) {
  const page = 1000 + index * 7;
  const previous = 1000 + ((index + VARIANTS - 1) % VARIANTS) * 7;
  return [
    `GET /products/${page}?ref=list HTTP/1.1`,
    `Host: ${host}`,
    'Connection: keep-alive',
    'sec-ch-ua: "Chromium";v="141", "Not?A_Brand";v="8", "Google Chrome";v="141"',
    'sec-ch-ua-mobile: ?0',
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
    'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
    `Referer: http://${host}/products/${previous}?ref=list`,
    'Accept-Encoding: gzip, deflate, br, zstd',
    'Accept-Language: en-GB,en-US;q=0.9,en;q=0.8',
    'Cookie: session=8f14e45fceea167a5a36dedd4bea2543c9f0f895fb98ab9159f51fd0297e236d; theme=dark; consent=necessary; '
      + '_visit=1732224000.1732220400.42; csrf=c4ca4238a0b923820dcc509a6f75849b; '
      + 'cart=a87ff679a2f3e71d9181a67b7542122c; tz=Europe/London; ab=7f39',
    '\r\n',
  ].join('\r\n');
}

/** A JSON text of exactly so many bytes, with the mixture that an order has. */
function jsonBody(bytes) {
  const order = { id: 90210, customer: 'Ada Lovelace', paid: true, note: null, total: 1234.56, items: [] };
  for (let index = 0; index < 9; index++) {
    order.items.push({ sku: `SKU-${4711 + index}`, name: 'analytical engine card', quantity: index + 1, price: 12.5 });
  }
  order.padding = '';
  order.padding = 'p'.repeat(bytes - JSON.stringify(order).length);
  return JSON.stringify(order);
}
