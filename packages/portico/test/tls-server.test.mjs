// https.Server as a server: bodies, upgrades, classes, sockets from elsewhere, closing and listening again.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import net from 'node:net';
import { Duplex, PassThrough } from 'node:stream';
import { test } from 'node:test';
import util from 'node:util';
import { certificates } from './support/certificates.mjs';
import { connect, get, https, onEngine, once, request, serve, tls } from './support/https.mjs';
import { project, run } from './support/programs.mjs';

const workshop = certificates();
const pair = workshop.issue('server');
const ca = workshop.root.cert;

const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Two ends of a connection in memory. */
function duplexPair() {
  const [here, there] = [new PassThrough(), new PassThrough()];
  return [Duplex.from({ readable: here, writable: there }), Duplex.from({ readable: there, writable: here })];
}

test('bodies of megabytes go both ways unchanged, whatever the version', async (t) => {
  const server = await serve(t, pair, async (req, res) => {
    const hash = createHash('sha256');
    for await (const chunk of req) hash.update(chunk);
    res.setHeader('x-digest', hash.digest('hex'));
    res.end(body);
  });
  const body = randomBytes(5_000_000);
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    const client = https.request({ port: server.address().port, host: '127.0.0.1', servername: 'localhost', method: 'POST', ca, minVersion: version, maxVersion: version, agent: false });
    client.end(body);
    const [response] = await once(client, 'response');
    const chunks = [];
    for await (const chunk of response) chunks.push(chunk);
    assert.equal(response.headers['x-digest'], digest(body));
    assert.equal(digest(Buffer.concat(chunks)), digest(body));
  }
});

test('a connection is kept, and pipelined requests are answered in order', async (t) => {
  const sockets = new Set();
  const server = await serve(t, pair, (req, res) => {
    sockets.add(req.socket);
    setTimeout(() => res.end(req.url), req.url === '/0' ? 30 : 0);
  });
  const socket = await connect(server, { ca });
  for (let i = 0; i < 5; i++) socket.write(`GET /${i} HTTP/1.1\r\nHost: localhost\r\n${i === 4 ? 'Connection: close\r\n' : ''}\r\n`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  assert.deepEqual(text.match(/\/\d(?!\.)/g), ['/0', '/1', '/2', '/3', '/4']);
  assert.equal(sockets.size, 1);
});

test('an upgraded connection is a TLS byte stream in both directions', async (t) => {
  const server = await serve(t, pair);
  server.on('upgrade', (req, socket, head) => {
    assert.ok(socket instanceof tls.TLSSocket);
    assert.equal(socket.encrypted, true);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.write(head);
    socket.on('data', (chunk) => socket.write(chunk.toString().toUpperCase()));
    socket.on('end', () => socket.end('bye'));
  });
  const client = https.request({ port: server.address().port, host: '127.0.0.1', servername: 'localhost', ca, headers: { connection: 'upgrade', upgrade: 'echo' } });
  client.end();
  const [, socket] = await once(client, 'upgrade');
  socket.setEncoding('utf8');
  socket.write('hello');
  assert.equal((await once(socket, 'data'))[0], 'HELLO');
  socket.end();
  assert.equal((await once(socket, 'data'))[0], 'bye');
});

test('sockets have addresses, counters, and events of their end', async (t) => {
  const seen = {};
  const server = await serve(t, pair, (req, res) => {
    const { socket } = req;
    Object.assign(seen, { address: socket.remoteAddress, port: socket.remotePort, local: socket.localPort, family: socket.remoteFamily, read: socket.bytesRead });
    socket.on('close', () => { seen.closed = true; });
    res.end('hello');
  });
  const socket = await connect(server, { ca });
  const { localPort } = socket;
  await request(socket);
  assert.equal(seen.address, '127.0.0.1');
  assert.equal(seen.port, localPort);
  assert.equal(seen.local, server.address().port);
  assert.equal(seen.family, 'IPv4');
  assert.ok(seen.read > 0);
  await new Promise((resolve) => { setTimeout(resolve, 20); });
  assert.equal(seen.closed, true);
});

test('destroying a socket from secureConnection or connection ends the connection', async (t) => {
  for (const event of ['connection', 'secureConnection']) {
    const server = await serve(t, pair);
    server.on(event, (socket) => socket.destroy());
    const client = tls.connect({ port: server.address().port, host: '127.0.0.1', ca, servername: 'localhost' });
    client.on('error', () => {});
    await new Promise((resolve) => { client.on('close', resolve); });
  }
});

test('subclasses by class and by util.inherits serve', async (t) => {
  class Derived extends https.Server {
    constructor(options, listener) {
      super(options, listener);
      this.derived = true;
    }
  }
  function Old(options, listener) {
    https.Server.call(this, options, listener);
  }
  util.inherits(Old, https.Server);
  for (const Class of [Derived, Old]) {
    const server = new Class(pair, (req, res) => res.end('derived'));
    assert.ok(server instanceof https.Server && server instanceof tls.Server && server instanceof net.Server);
    await serve(t, server);
    assert.equal((await get(server, { ca })).body, 'derived');
  }
  assert.ok(https.Server(pair) instanceof https.Server);
});

test('classes of the program\'s own for requests and responses are used', async (t) => {
  const { default: http } = await import('node:http');
  class Request extends http.IncomingMessage {
    get mine() { return 'mine'; }
  }
  class Response extends http.ServerResponse {
    finish(text) { this.end(text); }
  }
  const server = await serve(t, { ...pair, IncomingMessage: Request, ServerResponse: Response }, (req, res) => res.finish(req.mine));
  assert.equal((await get(server, { ca })).body, 'mine');
});

test('a raw connection handed in by emit is served, TLS and all', async () => {
  const server = https.createServer(pair, (req, res) => res.end(`from elsewhere ${req.socket.encrypted}`));
  const [client, other] = duplexPair();
  server.emit('connection', other);
  const socket = tls.connect({ socket: client, ca, servername: 'localhost' });
  await once(socket, 'secureConnect');
  assert.equal((await request(socket)).body, 'from elsewhere true');
});

test('a TLS socket handed in by emit is served', async (t) => {
  const server = https.createServer(pair, (req, res) => res.end('handed over'));
  const front = tls.createServer(pair, (socket) => server.emit('secureConnection', socket));
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  t.after(() => front.close());
  assert.equal((await get(front, { ca })).body, 'handed over');
});

test('a server listens again after it was closed', async (t) => {
  const server = https.createServer(pair, (req, res) => res.end('again'));
  server.addContext('named.test', workshop.issue('named', { names: 'DNS:named.test' }));
  for (let round = 0; round < 2; round++) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { body, socket } = await get(server, { ca, servername: 'named.test' });
    assert.equal(body, 'again');
    assert.equal(socket.authorized, true);
    server.close();
    await once(server, 'close');
  }
});

test('close waits for requests in flight and ends idle connections', async (t) => {
  let release;
  const server = https.createServer(pair, (req, res) => { release = () => res.end('finished'); });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const idle = await connect(server, { ca });
  const busy = await connect(server, { ca });
  const answer = request(busy);
  while (release === undefined) await new Promise((resolve) => { setImmediate(resolve); });
  // A connection without a request yet counts as active in Node, until something came over it.
  idle.on('error', () => {});
  idle.end();
  const closed = once(server, 'close');
  server.close();
  release();
  assert.equal((await answer).body, 'finished');
  await closed;
});

test('closeAllConnections ends TLS connections', async (t) => {
  const server = https.createServer(pair, () => server.closeAllConnections());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = https.get({ port: server.address().port, host: '127.0.0.1', ca, servername: 'localhost' });
  const [error] = await once(client, 'error');
  assert.equal(error.code, 'ECONNRESET');
  server.close();
  await once(server, 'close');
});

test('getConnections counts, and errors of listen are events', async (t) => {
  const server = await serve(t, pair);
  const socket = await connect(server, { ca });
  assert.equal(await util.promisify(server.getConnections.bind(server))(), 1);
  const second = https.createServer(pair);
  second.listen(server.address().port, '127.0.0.1');
  const [error] = await once(second, 'error');
  assert.equal(error.code, 'EADDRINUSE');
  assert.equal(error.syscall, 'listen');
  socket.destroy();
});

test('a server with the lenient parser is Node\'s own, TLS included', async (t) => {
  const warnings = [];
  const note = (warning) => warnings.push(warning.code);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const server = await serve(t, { ...pair, insecureHTTPParser: true, dhparam: 'auto' }, (req, res) => res.end(req.headers.bad));
  const socket = await connect(server, { ca });
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nBad: a\u0001b\r\nConnection: close\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += chunk;
  assert.match(text, /^HTTP\/1\.1 200/);
  assert.deepEqual(warnings, onEngine ? ['PORTICO_STOCK_SERVER'] : []);
});

test('a handshake in small pieces succeeds', async (t) => {
  const server = await serve(t, pair);
  const relay = net.createServer((client) => {
    const upstream = net.connect(server.address().port, '127.0.0.1');
    upstream.setNoDelay(true);
    client.on('data', async (chunk) => {
      client.pause();
      for (let at = 0; at < chunk.length; at += 7) {
        upstream.write(chunk.subarray(at, at + 7));
        if (at % 70 === 0) await new Promise((resolve) => { setImmediate(resolve); });
      }
      client.resume();
    });
    client.on('error', () => {}).on('close', () => upstream.destroy());
    upstream.on('error', () => {});
    upstream.pipe(client);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.after(() => relay.close());
  assert.equal((await get(relay, { ca })).body, 'hello');
});

test('contexts that SNICallback makes anew each time are let go', { skip: !globalThis.gc && 'needs --expose-gc' }, async (t) => {
  const server = await serve(t, { SNICallback: (_name, done) => done(null, tls.createSecureContext(pair)) });
  for (let round = 0; round < 50; round++) await get(server, { ca });
  globalThis.gc();
  assert.equal((await get(server, { ca })).body, 'hello');
});

test('cluster workers share ticket keys, as in Node', async (t) => {
  const folder = project(t, {
    'server.json': JSON.stringify({ ...pair, ca }),
    'app.cjs': `
      const cluster = require('cluster');
      const https = require('https');
      const tls = require('tls');
      const { key, cert, ca } = require('./server.json');
      if (cluster.isPrimary) {
        let listening = 0;
        cluster.on('listening', async (worker, { port }) => {
          if (++listening < 2) return;
          let session;
          const seen = [];
          for (let i = 0; i < 4; i++) {
            seen.push(await new Promise((resolve, reject) => {
              const socket = tls.connect({ port, host: '127.0.0.1', servername: 'localhost', ca, session, maxVersion: 'TLSv1.2' }, () => {
                session = socket.getSession();
                socket.write('GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n');
              });
              let text = '';
              socket.on('data', (chunk) => { text += chunk; });
              socket.on('end', () => resolve(text.split('\\r\\n\\r\\n')[1]));
              socket.on('error', reject);
            }));
          }
          console.log(new Set(seen.map((one) => one.split(' ')[0])).size, seen.map((one) => one.split(' ')[1]).join());
          for (const worker of Object.values(cluster.workers)) worker.disconnect();
        });
        cluster.fork();
        cluster.fork();
      } else {
        https.createServer({ key, cert }, (q, r) => r.end(process.pid + ' ' + q.socket.isSessionReused())).listen(0, '127.0.0.1');
      }`,
  });
  const env = process.env.PORTICO_NATIVE === undefined ? {} : { PORTICO_NATIVE: process.env.PORTICO_NATIVE };
  const result = await run(folder, ['--import', 'portico/register', 'app.cjs'], onEngine ? { PORTICO_REQUIRE: '1', ...env } : { PORTICO_DISABLE: '1' });
  assert.match(result.stdout, /^2 false,true,true,true,true|^2 false,true,true,true/, result.stderr);
});
