// Serves a request listener on http and https, says where, and stops cleanly.

import http from 'node:http';
import https from 'node:https';
import { fileURLToPath } from 'node:url';
import { status } from 'portico';
import { localhostCertificate } from './certificate.mjs';

/** Requests in flight get this long to finish after the first Ctrl-C. */
const GRACE_MS = 10_000;
const CERTIFICATES = fileURLToPath(new URL('../../.portico/', import.meta.url));

/**
 * Serves `listener` on HTTP_PORT (8080) and HTTPS_PORT (8443) until Ctrl-C. Ends the process: with 0 after a clean stop,
 * with 1 and a sentence if it can't start.
 *
 * @param {string} name of the site, for the terminal
 * @param {import('node:http').RequestListener} listener
 * @param {() => void} onStop called at the first Ctrl-C, to end what would go on by itself (event streams)
 */
export async function serve(name, listener, onStop = () => {}) {
  let servers;
  try {
    const { key, cert, made } = localhostCertificate(CERTIFICATES);
    const ports = { http: port('HTTP_PORT', 8080), https: port('HTTPS_PORT', 8443) };
    servers = [http.createServer(listener), https.createServer({ key, cert }, listener)];
    await listen(servers[0], ports.http, 'HTTP_PORT');
    await listen(servers[1], ports.https, 'HTTPS_PORT');
    announce(name, ports, made);
  } catch (error) {
    console.error(`\n${error.message}\n`);
    process.exit(1);
  }
  stopOnSignal(servers, onStop);
}

function port(variable, fallback) {
  const text = process.env[variable];
  if (text === undefined || text === '') return fallback;
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number < 65536) return number;
  throw new Error(`${variable} must be a port number from 1 to 65535; it is '${text}'.`);
}

function listen(server, number, variable) {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(explain(error, number, variable))));
    server.listen(number, resolve);
  });
}

function explain(error, number, variable) {
  if (error.code === 'EADDRINUSE') {
    return `Port ${number} is taken by another program. Stop it, or choose another port: make run ${variable}=${number + 1}`;
  }
  if (error.code === 'EACCES') {
    return `This user may not use port ${number}. Choose one above 1023: make run ${variable}=${number + 8000}`;
  }
  return `Port ${number} could not be opened: ${error.message}`;
}

function announce(name, ports, made) {
  const { active, reason } = status();
  const engine = active ? 'Portico' : `node:http (Portico is not in use: ${reason})`;
  console.log([
    '',
    `  ${name} is up.`,
    '',
    `    http://localhost:${ports.http}`,
    `    https://localhost:${ports.https}`,
    '',
    `  Served by ${engine} on Node.js ${process.versions.node}.`,
    made ? '  A certificate for localhost was made in .portico/. No browser knows it: it will ask whether to go on.'
      : '  The certificate in .portico/ is our own: a browser will ask whether to go on.',
    '  Ctrl-C stops it.',
    '',
  ].join('\n'));
}

/** The first signal lets requests in flight finish; the second one, or the end of the grace, does not. */
function stopOnSignal(servers, onStop) {
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(130);
    stopping = true;
    console.log('\n  Stopping: requests in flight are finished first. Ctrl-C again stops at once.');
    onStop();
    const late = setTimeout(() => {
      for (const server of servers) server.closeAllConnections();
    }, GRACE_MS);
    Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))).then(() => {
      clearTimeout(late);
      console.log('  Stopped.\n');
      process.exit(0);
    });
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}
