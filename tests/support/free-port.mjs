// A port for a program that a test starts.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 12_000;
const ATTEMPTS = 50;

/**
 * A port that no program listens on. It lies below those that the kernel gives to clients: one of these that is free now may
 * be a client's a moment later, which has bound it to an address of its own, and then no server can listen on it.
 */
export async function freePort() {
  const end = firstOfClients();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = await listen(LOWEST + Math.floor(Math.random() * (end - LOWEST)));
    if (port !== undefined) return port;
  }
  throw new Error(`no port between ${LOWEST} and ${end} is free`);
}

function firstOfClients() {
  const [first] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/);
  return Math.max(Number(first), LOWEST + 1_000);
}

/** The port, if a server can listen on it. */
function listen(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, () => server.close(() => resolve(port)));
  });
}
