'use strict';
// What every member of a request, its response, their socket and the server is: its type, a truth value as it is, and the
// class of an object; from the handler's beginning to the connection's end, over http and https.

const http = require('node:http');
const https = require('node:https');
const { once } = require('node:events');
const net = require('node:net');
const tls = require('node:tls');
const { close, listen } = require('../lib/scenario-tools.cjs');
const { key, cert } = require('../lib/certificate.cjs');

/** What is another on purpose, by the reason. Names of a socket of TLS alone begin with `tls.`, of a response alone with `res.`. */
const OTHERS = new Set([
  // Requests and responses have no listeners of Node's own.
  '_events', '_eventsCount',
  // The engine is below the socket, not libuv and OpenSSL.
  '_handle', 'tls.ssl', 'tls._parent', 'tls._SNICallback', 'tls._controlReleased', 'tls._newSessionPending', 'tls._rejectUnauthorized',
  'tls._requestCert', 'tls._securePending', 'tls._tlsOptions',
  // Bytes below TLS are counted, and counted at once.
  'bytesRead', 'bytesWritten', '_bytesDispatched',
  // The engine's own timer waits for the next request.
  'timeout',
  // Node's https servers lack the default of its http servers.
  'maxRequestsPerSocket', '_maxRequestsPerSocket',
  // There is an accessor for what programs assign.
  'maxConnections',
  // An accessor of our responses that node:http lacks (docs/cache.md).
  'res.cacheDuration',
]);

function namesOf(object) {
  const names = new Set();
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  return [...names].sort();
}

function kindOf(object, name) {
  let value;
  try {
    value = object[name];
  } catch (error) {
    return `throws ${error.code ?? error.name}`;
  }
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object') return typeof value;
  return Object.getPrototypeOf(value) === null ? 'object' : value.constructor.name;
}

function show(log, when, objects) {
  for (const [actor, object] of Object.entries(objects)) {
    const prefix = { socket: object.encrypted === true ? 'tls.' : '', res: 'res.' }[actor] ?? '';
    const names = namesOf(object).filter((name) => !OTHERS.has(name) && !OTHERS.has(prefix + name));
    for (const name of names) log(`${actor} ${when}`, name, kindOf(object, name));
  }
}

function scenario(makeServer, connect) {
  return async (log) => {
    const server = makeServer();
    show(log, 'before it listens', { server });
    let closed;
    server.on('request', (req, res) => {
      const { socket } = req;
      closed = once(socket, 'close');
      show(log, 'at first', { req, res, socket, server });
      req.resume().on('end', () => {
        show(log, 'at the end of the body', { req });
        res.end('x', () => {
          show(log, 'in the callback of the end', { res });
          setImmediate(() => show(log, 'between requests', { req, res, socket, server }));
        });
      });
      socket.on('close', () => setImmediate(() => show(log, 'when closed', { socket })));
    });
    const client = connect(await listen(server));
    client.write('POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc');
    let text = '';
    for await (const part of client) {
      text += part;
      if (text.endsWith('\r\n\r\nx')) break;
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
    client.destroy();
    await closed;
    await close(server);
  };
}

module.exports = {
  over_http: scenario(() => http.createServer(), (port) => net.connect({ port, host: '127.0.0.1' })),
  over_https: scenario(() => https.createServer({ key, cert }), (port) => tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })),
};
