// Servers of node:http and node:https that take HTTP/2 as well, and clients of node:http2.

process.env.PORTICO_REQUIRE = '1';
process.env.PORTICO_HTTP2 = '1';
await import('portico/register');

import { once } from 'node:events';
import http2 from 'node:http2';
import { certificates } from './certificates.mjs';

const identityPair = certificates().issue('http2');
const http = (await import('node:http')).default;
const https = (await import('node:https')).default;

/** A server's certificate, as options. */
export const identity = () => identityPair;

/** A listening server that is gone at the test's end: of node:https with `secure`, else of node:http. */
export async function serve(t, listener, { secure = false, ...options } = {}) {
  const server = secure ? https.createServer({ ...identity(), ...options }, listener) : http.createServer(options, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  }));
  return server;
}

/** A client of a server, over HTTP/2. */
export async function connect(t, server, options = {}) {
  const scheme = server instanceof https.Server ? 'https' : 'http';
  const client = http2.connect(`${scheme}://localhost:${server.address().port}`, { lookup, rejectUnauthorized: false, ...options });
  client.on('error', () => undefined);
  t.after(() => client.destroy());
  await once(client, 'connect');
  return client;
}

function lookup(_name, options, callback) {
  if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
  else callback(null, '127.0.0.1', 4);
}

/** One request: its answer as `{ status, headers, body, trailers, interim }`. Rejects where the stream fails. */
export async function request(client, headers = {}, body = undefined, trailers = undefined) {
  const stream = client.request({ ':path': '/', ...headers }, { endStream: body === undefined && trailers === undefined, waitForTrailers: trailers !== undefined });
  const interim = [];
  const answer = { trailers: {}, interim };
  stream.on('headers', (fields) => interim.push(fields));
  stream.on('trailers', (fields) => (answer.trailers = fields));
  if (trailers !== undefined) stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  if (body !== undefined || trailers !== undefined) stream.end(body);
  const [fields] = await once(stream, 'response', { signal: closing(stream) });
  const parts = [];
  for await (const part of stream) parts.push(part);
  if (stream.rstCode !== 0) throw Object.assign(new Error('reset'), { rstCode: stream.rstCode });
  return Object.assign(answer, { status: fields[':status'], headers: fields, body: Buffer.concat(parts) });
}

/** Aborted when a stream closes: one that its server resets has no other event. */
export function closing(stream) {
  const controller = new AbortController();
  stream.on('close', () => controller.abort());
  return controller.signal;
}

export { http, https, http2, once };
