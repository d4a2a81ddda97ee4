/** What node:http makes of the first request in some bytes, in the words of the rows. */
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';

import { escapeBytes } from './wire-cases.mjs';

/** Milliseconds without anything happening after which a request counts as incomplete: at first, and to be sure. */
const QUIET_MS = 120;
const SURE_MS = 3000;
/** Longer names, targets and bodies are told by their length. */
const MAX_SHOWN = 64;

/**
 * Sends the bytes to a server of this process's node:http. Returns `{ verdict, fields? }`. Where the request seems
 * incomplete and should not (`expected`), the machine may have been busy: it gets more time.
 */
export async function nodeVerdict(bytes, expected) {
  const first = await verdictWithin(bytes, QUIET_MS);
  return first.verdict.includes('incomplete') && first.verdict !== expected ? verdictWithin(bytes, SURE_MS) : first;
}

async function verdictWithin(bytes, quietMs) {
  const seen = {};
  let settle;
  const settled = new Promise((resolve) => { settle = resolve; });
  let timer;
  const touch = () => {
    clearTimeout(timer);
    timer = setTimeout(settle, quietMs);
  };

  const accept = (request, extra) => {
    if (seen.request) return;
    Object.assign(seen, { request, extra, body: [] });
    request.on('error', () => {});
    request.on('data', (chunk) => { seen.body.push(chunk); touch(); });
    request.on('end', () => { seen.ended = true; settle(); });
    touch();
  };
  const server = http.createServer({ requireHostHeader: false });
  server.on('request', (request, response) => accept(request, keepAlive(response)));
  server.on('checkContinue', (request, response) => accept(request, `${keepAlive(response)} expect-continue`));
  server.on('checkExpectation', (request, response) => accept(request, `${keepAlive(response)} expect-other`));
  for (const event of ['upgrade', 'connect']) {
    server.on(event, (request) => {
      accept(request, 'upgrade');
      seen.upgrade = true;
      settle();
    });
  }
  server.on('clientError', (error) => {
    // Bytes after a complete request are another's matter.
    if (!seen.ended) seen.error ??= error;
    settle();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = net.connect(server.address().port, '127.0.0.1');
  socket.on('error', () => {});
  socket.on('data', () => {});
  touch();
  socket.write(bytes);
  await settled;
  clearTimeout(timer);
  socket.destroy();
  server.close();
  server.closeAllConnections();
  return describe(seen);
}

function keepAlive(response) {
  return response.shouldKeepAlive ? 'keep-alive' : 'close';
}

function describe(seen) {
  const { error, request } = seen;
  if (error && error.code?.startsWith('HPE_')) return { verdict: `${error.code}: ${error.reason} @${error.bytesParsed}` };
  if (error) return { verdict: `error ${error.code}` };
  if (!request) return { verdict: 'incomplete' };
  const words = [
    request.method, shown(Buffer.from(request.url, 'latin1')), `HTTP/${request.httpVersion}`, framing(request),
    seen.extra,
  ];
  if (request.headers.host === undefined) words.push('no-host');
  const fields = pairs(request.rawHeaders);
  if (!seen.upgrade && framing(request) !== 'none') {
    const body = Buffer.concat(seen.body);
    words.push(seen.ended ? `body=${shown(body)}` : 'body-incomplete');
    const trailers = pairs(request.rawTrailers);
    if (trailers.length > 0) words.push(`trailers=${shown(Buffer.from(trailers.join(' | '), 'latin1'))}`);
  }
  return { verdict: words.join(' '), fields: fields.map((field) => escapeBytes(Buffer.from(field, 'latin1'))).join(' | ') };
}

function framing(request) {
  if (request.headers['transfer-encoding'] !== undefined) return 'chunked';
  const length = request.headers['content-length'];
  return length === undefined ? 'none' : `length=${BigInt(length.trim())}`;
}

function pairs(raw) {
  const result = [];
  for (let i = 0; i < raw.length; i += 2) result.push(`${raw[i]}: ${raw[i + 1]}`);
  return result;
}

function shown(bytes) {
  return bytes.length > MAX_SHOWN ? `(${bytes.length} bytes)` : escapeBytes(bytes);
}
