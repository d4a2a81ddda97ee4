// Real clients: curl, and helpers over fetch, http.request and plain sockets.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs curl with `args`; resolves with its standard output. Rejects if curl fails or takes 60 s. */
export async function curl(...args) {
  const { stdout } = await run('curl', ['--silent', '--show-error', '--max-time', '60', ...args], { maxBuffer: 1 << 28 });
  return stdout;
}

/** One http.request on a connection of its own; resolves with `{ status, headers, body, trailers }`. */
export async function request(url, { body, ...options } = {}) {
  const outgoing = http.request(url, { agent: false, ...options });
  outgoing.end(body);
  const [response] = await once(outgoing, 'response');
  const parts = [];
  for await (const part of response) parts.push(part);
  const { statusCode: status, headers, trailers } = response;
  return { status, headers, trailers, body: Buffer.concat(parts) };
}

/** Sends bytes on a plain socket and resolves with all that comes until the server ends, as latin1. Rejects after 20 s of silence. */
export async function raw(port, bytes) {
  const socket = net.connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (part) => (text += part));
  socket.setTimeout(20_000, () => socket.destroy(new Error(`the connection does not end; it sent ${JSON.stringify(text.slice(0, 500))}`)));
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return text;
}

/** Polls `condition` until it is true; throws after `limitMs`. */
export async function eventually(condition, what, limitMs = 10_000) {
  const limit = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > limit) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
