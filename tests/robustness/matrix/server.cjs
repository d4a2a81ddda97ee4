'use strict';
// The server of a drive: `node [--import portico/register] server.cjs '{"patient":0,"hasty":0,"expectant":0,"upgrading":0}'`, a
// child with a channel. Each named server listens on its port or URL prefix; all do what the last segment of the path says.
//
// patient: no timer of its connections ends within a row. hasty: keepAliveTimeout is 400 ms. expectant: has a
// 'checkContinue' listener, which handles the request without sending 100. upgrading: has an 'upgrade' listener.

const http = require('node:http');
const { behaviours } = require('./behaviours/index.cjs');
const { watch, noteRejection, report } = require('./watching.cjs');
const { memoryHandlers } = require('./memory-handlers.cjs');

const PATIENT_MS = 60_000;
const HASTY_MS = 400;

function handle(request, response) {
  const name = request.url.slice(request.url.lastIndexOf('/') + 1);
  const { 'x-row': row, 'x-watched': watched } = request.headers;
  if (watched !== undefined) watch(row, request, response);
  const behaviour = behaviours.get(name);
  if (behaviour === undefined) return void others[name](request, response);
  const result = behaviour.handle(request, response);
  if (result instanceof Promise) result.catch((error) => noteRejection(row, error));
}

function upgrade(request, socket, head) {
  behaviours.get(request.url.slice(request.url.lastIndexOf('/') + 1)).handle(request, socket, head);
}

const others = {
  /** The request behind the one under test. */
  next: (request, response) => response.end(`next of ${request.headers['x-row']}`),
  echo: (request, response) => request.pipe(response),
  /** The request before it, where that one shall wait for its turn. */
  first: (request, response) => void setTimeout(() => response.end('first'), 40),
  ...memoryHandlers,
};

function makeServer(name) {
  const server = http.createServer(handle);
  server.keepAliveTimeout = name === 'hasty' ? HASTY_MS : PATIENT_MS;
  server.headersTimeout = PATIENT_MS + 1000;
  if (name === 'expectant') server.on('checkContinue', handle);
  if (name === 'upgrading') server.on('upgrade', upgrade);
  return server;
}

async function main() {
  const ports = {};
  for (const [name, where] of Object.entries(JSON.parse(process.argv[2]))) {
    const server = makeServer(name);
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      if (typeof where === 'number') server.listen(where, '127.0.0.1', resolve);
      else server.listen(where, resolve);
    });
    ports[name] = server.address().port;
  }
  process.send({ ports });
}

const strays = [];
process.on('uncaughtException', (error) => {
  if (error.name !== 'RowError') strays.push(error.stack);
});
process.on('message', ({ id, ask, rows }) => {
  if (ask === 'events') report(rows).then((events) => process.send({ id, events, strays: strays.splice(0) }));
  else {
    if (ask === 'collect') globalThis.gc();
    process.send({ id });
  }
});
process.on('disconnect', () => process.exit(0));
main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
