// Servers and clients of the TLS tests. With PORTICO_DISABLE=1 the same scenarios run on node:https, which is how we know
// that they say what Node does; otherwise the engine is required.

import { once } from 'node:events';
import tls from 'node:tls';

if (!process.env.PORTICO_DISABLE) process.env.PORTICO_REQUIRE = '1';
await import('portico/register');
const { status } = await import('portico');

/** Whether the engine serves; false on the reference run. */
export const onEngine = status().active;

const https = (await import('node:https')).default;

/** Answers with what `describe` finds on the request's socket. */
export function describing(describe) {
  return (request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(describe(request.socket, request)) ?? 'null');
  };
}

/** A listening https server that is closed at the test's end. */
export async function serve(t, options, listener = (_request, response) => response.end('hello')) {
  const server = options instanceof https.Server ? options : https.createServer(options, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  }));
  return server;
}

/** A TLS client's socket after its handshake; it fails the way tls.connect fails. */
export async function connect(server, options = {}) {
  const socket = tls.connect({ host: '127.0.0.1', port: server.address().port, servername: 'localhost', ...options });
  await once(socket, 'secureConnect');
  return socket;
}

/** GET over one connection of its own: the body as text (or JSON), what the handshake settled, and the closed socket. */
export async function get(server, options = {}) {
  const socket = await connect(server, options);
  const settled = { protocol: socket.getProtocol(), cipher: socket.getCipher(), reused: socket.isSessionReused() };
  const answer = await request(socket);
  return Object.assign(answer, { socket, ...settled });
}

/** GET with `Connection: close` on a connected socket. */
export async function request(socket, path = '/') {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.setEncoding('utf8');
  for await (const chunk of socket) text += chunk;
  const [head, body] = text.split(/\r\n\r\n([^]*)/);
  return {
    head,
    body,
    get json() {
      return JSON.parse(body);
    },
  };
}

/** The error of a client whose handshake, or whose first read after it (TLS 1.3), must fail. */
export async function failure(server, options = {}) {
  try {
    const socket = await connect(server, options);
    const { head } = await request(socket);
    return { code: head === '' ? 'CLOSED' : 'ANSWERED' };
  } catch (error) {
    return error;
  }
}

export { https, once, tls };
