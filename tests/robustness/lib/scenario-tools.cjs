'use strict';
// What every scenario uses: servers on port 0, exact bytes in both directions, and logs that can be
// compared between two runs. Nothing here may depend on which HTTP stack is loaded.

const { once } = require('node:events');
const net = require('node:net');

const DATE = /^Date: [A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT\r$/gm;

/** A log with one list per actor: only the order within a list is promised to be the same. */
function makeLog() {
  const lists = {};
  const log = (actor, ...parts) => {
    (lists[actor] ??= []).push(parts.map(describe).join(' '));
  };
  return { log, lists };
}

function describe(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value.name}[${value.code ?? ''}]`;
  if (Buffer.isBuffer(value)) return `<${value.length} bytes>`;
  return JSON.stringify(value) ?? String(value);
}

/** Listens on a free port of 127.0.0.1, or behind a host on the port that the test has found, and returns it. */
async function listen(server) {
  const hosted = process.env.SCENARIOS_HOSTED_PORT;
  if (hosted !== undefined) server.listen(`http://127.0.0.1:${hosted}/`);
  else server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return hosted === undefined ? server.address().port : Number(hosted);
}

/** Closes a server with all its connections; resolves on its 'close' event. */
async function close(server) {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/** A raw client. `received` is all bytes so far, as latin1. */
class RawClient {
  constructor(port, options = {}) {
    this.received = '';
    this.ended = false;
    this.error = null;
    this.socket = net.connect({ port, host: '127.0.0.1', ...options });
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1');
    });
    this.socket.on('end', () => {
      this.ended = true;
    });
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.closed = once(this.socket, 'close').catch(() => {});
  }

  write(text) {
    this.socket.write(text, 'latin1');
    return this;
  }

  /** Resolves once `received` contains `text` (or matches it), the server ended, or time is up. */
  async until(pattern, limitMs = 5000) {
    const found = () => (typeof pattern === 'string' ? this.received.includes(pattern) : pattern.test(this.received));
    await waitFor(() => found() || this.ended || this.socket.destroyed, limitMs);
    return this.text();
  }

  /** Everything up to the server's end of the connection, the Date header made constant. */
  async all() {
    await this.closed;
    return this.text();
  }

  text() {
    return this.received.replace(DATE, 'Date: <date>\r');
  }

  destroy() {
    this.socket.destroy();
  }
}

/** Sends `request` whole and returns what comes until the server closes. */
async function exchange(port, request) {
  const client = new RawClient(port);
  client.write(request);
  return client.all();
}

/** A GET that asks for the connection to be closed, with further header lines. */
function get(path = '/', ...lines) {
  return [`GET ${path} HTTP/1.1`, 'Host: a.test', ...lines, 'Connection: close', '', ''].join('\r\n');
}

/** A POST with a body of known length that asks for the connection to be closed. */
function post(body, ...lines) {
  const length = `Content-Length: ${Buffer.byteLength(body, 'latin1')}`;
  return [`POST / HTTP/1.1`, 'Host: a.test', ...lines, length, 'Connection: close', '', body].join('\r\n');
}

/** Polls, because what it waits for may come from the other side of a socket. */
async function waitFor(condition, limitMs = 5000) {
  const limit = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > limit) return false;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return true;
}

/** Runs a function and returns what it threw, or what it returned, in words. */
function attempt(action) {
  try {
    return `returned ${describe(action())}`;
  } catch (error) {
    return `threw ${error.name} ${error.code ?? ''}`;
  }
}

/** Serves one exchange and returns its bytes: the shortest form of a scenario about the wire. */
async function serveOnce(http, handler, request = get(), options = {}) {
  const server = http.createServer(options, handler);
  const port = await listen(server);
  const text = await exchange(port, request);
  await close(server);
  return text;
}

module.exports = { makeLog, listen, close, RawClient, exchange, get, post, waitFor, attempt, serveOnce };
