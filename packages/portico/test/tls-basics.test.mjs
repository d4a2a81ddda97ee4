// Keys, certificates, names and protocols: what a server serves and what its sockets say.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { certificates } from './support/certificates.mjs';
import { connect, describing, failure, get, https, onEngine, once, request, serve, tls } from './support/https.mjs';

const run = promisify(execFile);
const workshop = certificates();
const rsa = workshop.issue('rsa', { type: 'rsa' });
const ec = workshop.issue('ec', { type: 'p256' });
const below = workshop.issue('below', { issuer: 'intermediate' });
const ca = workshop.root.cert;

test('a certificate of each key type is served over both versions', async (t) => {
  const pairs = { rsa, ec, p384: workshop.issue('p384', { type: 'p384' }), ed25519: workshop.issue('ed25519', { type: 'ed25519' }) };
  for (const [name, pair] of Object.entries(pairs)) {
    const server = await serve(t, pair, describing((socket) => ({ protocol: socket.getProtocol(), cipher: socket.getCipher() })));
    for (const version of ['TLSv1.2', 'TLSv1.3']) {
      const { json, socket, cipher } = await get(server, { ca, minVersion: version, maxVersion: version });
      assert.equal(socket.authorized, true, name);
      assert.equal(json.protocol, version);
      assert.deepEqual(json.cipher, cipher);
    }
  }
});

test('a socket says what the handshake settled', async (t) => {
  const server = await serve(t, rsa, describing((socket) => ({
    encrypted: socket.encrypted, servername: socket.servername, alpn: socket.alpnProtocol, authorized: socket.authorized,
    authorizationError: socket.authorizationError, reused: socket.isSessionReused(), peer: socket.getPeerCertificate(),
    ephemeral: socket.getEphemeralKeyInfo(), own: socket.getCertificate().subject.CN, connecting: socket.secureConnecting,
    x509: socket.getX509Certificate().subject, peerX509: socket.getPeerX509Certificate() ?? 'none',
    tlsSocket: socket instanceof tls.TLSSocket, name: socket.constructor.name,
  })));
  const { json } = await get(server, { ca });
  assert.deepEqual(json, {
    encrypted: true, servername: 'localhost', alpn: false, authorized: false, authorizationError: null, reused: false,
    peer: {}, ephemeral: null, own: 'rsa', connecting: false, x509: 'CN=rsa\nO=Portico', peerX509: 'none', tlsSocket: true,
    name: 'TLSSocket',
  });
  const nameless = await get(server, { ca, servername: '', checkServerIdentity: () => undefined });
  assert.equal(nameless.json.servername, false);
});

test('a chain in one file is sent whole', async (t) => {
  const server = await serve(t, { key: below.key, cert: `${below.cert}\n${workshop.intermediate.cert}` });
  const { socket } = await get(server, { ca });
  assert.equal(socket.authorized, true);
});

test('a leaf without chain gets its issuers from ca', async (t) => {
  const server = await serve(t, { ...below, ca: [workshop.other.cert, workshop.intermediate.cert] });
  const { socket } = await get(server, { ca });
  assert.equal(socket.authorized, true);
  const bare = await serve(t, below);
  assert.equal((await failure(bare, { ca })).code, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
});

test('of an RSA and an EC pair each client gets the one it can use', async (t) => {
  const server = await serve(t, { key: [rsa.key, ec.key], cert: [rsa.cert, ec.cert] });
  const options = { ca, maxVersion: 'TLSv1.2' };
  const overRsa = await get(server, { ...options, ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' });
  assert.equal(overRsa.cipher.name, 'ECDHE-RSA-AES128-GCM-SHA256');
  const overEc = await get(server, { ...options, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' });
  assert.equal(overEc.cipher.name, 'ECDHE-ECDSA-AES128-GCM-SHA256');
});

test('encrypted keys open with their passphrase', async (t) => {
  const key = workshop.encryptedKey('rsa', 'secret');
  const traditional = workshop.encryptedKey('ec', 'other secret', '-traditional');
  const forms = [
    { key, passphrase: 'secret', cert: rsa.cert },
    { key: [{ pem: key, passphrase: 'secret' }], cert: rsa.cert },
    { key: [{ pem: Buffer.from(key), passphrase: 'secret' }, { pem: traditional, passphrase: 'other secret' }], cert: [rsa.cert, ec.cert] },
    { key: [{ pem: traditional }], passphrase: 'other secret', cert: Buffer.from(ec.cert) },
  ];
  for (const options of forms) {
    const { body } = await get(await serve(t, options), { ca });
    assert.equal(body, 'hello');
  }
  assert.throws(() => https.createServer({ key, passphrase: 'wrong', cert: rsa.cert }), { code: /^ERR_OSSL/ });
  assert.throws(() => https.createServer({ key: below.key, cert: ec.cert }), { code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' });
});

test('a PFX file is a key with its chain', async (t) => {
  const pfx = workshop.pfx('below', 'pfx secret', [workshop.intermediate.cert]);
  const forms = [{ pfx, passphrase: 'pfx secret' }, { pfx: [{ buf: pfx, passphrase: 'pfx secret' }] }, { pfx: [pfx], passphrase: 'pfx secret' }];
  for (const options of forms) {
    const { socket } = await get(await serve(t, options), { ca });
    assert.equal(socket.authorized, true);
  }
  assert.throws(() => https.createServer({ pfx, passphrase: 'wrong' }), /mac verify failure/);
});

test('addContext serves names, the last one wins, and others get the own certificate', async (t) => {
  const [a, b, wild] = ['a', 'b', 'wild'].map((name) => workshop.issue(name, { names: 'DNS:a.test,DNS:b.test,DNS:x.c.test,DNS:other.test,DNS:x.y.c.test' }));
  const server = https.createServer(ec, describing((socket) => ({ name: socket.servername, own: socket.getCertificate().subject.CN })));
  server.addContext('a.test', a);
  server.addContext('b.test', a);
  server.addContext('b.test', tls.createSecureContext(b));
  server.addContext('*.c.test', wild);
  await serve(t, server);
  const cases = { 'a.test': 'a', 'b.test': 'b', 'x.c.test': 'wild', 'x.y.c.test': 'ec', 'other.test': 'ec' };
  for (const [servername, expected] of Object.entries(cases)) {
    const { socket } = await get(server, { ca, servername, checkServerIdentity: (_name, cert) => assert.equal(cert.subject.CN, expected) });
    assert.equal(socket.authorized, true);
  }
  server.addContext('other.test', a);
  await get(server, { ca, servername: 'other.test', checkServerIdentity: (_name, cert) => assert.equal(cert.subject.CN, 'a') });
});

test('SNICallback chooses at once or later, and may fail or decline', async (t) => {
  const chosen = tls.createSecureContext(workshop.issue('chosen', { names: 'DNS:now.test,DNS:later.test' }));
  const contexts = {
    'now.test': (callback) => callback(null, chosen),
    'later.test': (callback) => setTimeout(callback, 20, null, chosen),
    'none.test': (callback) => callback(null),
    'bad.test': (callback) => callback(new Error('no such name')),
    'thrown.test': (callback) => setImmediate(() => callback(new Error('later no'))),
  };
  const server = await serve(t, { ...ec, SNICallback: (name, callback) => contexts[name](callback) });
  const errors = [];
  server.on('tlsClientError', (error) => errors.push(error.message));
  const subject = async (servername) => {
    let found;
    await get(server, { ca, servername, checkServerIdentity: (_name, cert) => { found = cert.subject.CN; } });
    return found;
  };
  assert.equal(await subject('now.test'), 'chosen');
  assert.equal(await subject('later.test'), 'chosen');
  assert.equal(await subject('none.test'), 'ec');
  assert.notEqual((await failure(server, { ca, servername: 'bad.test' })).code, 'ANSWERED');
  assert.notEqual((await failure(server, { ca, servername: 'thrown.test' })).code, 'ANSWERED');
  assert.deepEqual(errors, ['no such name', 'later no']);
});

test('ALPN agrees on the server\'s first, and refuses when there is none in common', async (t) => {
  const byDefault = await serve(t, ec, describing((socket) => socket.alpnProtocol));
  assert.equal((await get(byDefault, { ca, ALPNProtocols: ['h2', 'http/1.1'] })).json, 'http/1.1');
  assert.match((await failure(byDefault, { ca, ALPNProtocols: ['h2'] })).code, /NO_APPLICATION_PROTOCOL/);
  const own = await serve(t, { ...ec, ALPNProtocols: ['b', 'a'] }, describing((socket) => socket.alpnProtocol));
  assert.equal((await get(own, { ca, ALPNProtocols: ['a', 'b'] })).json, 'b');
  assert.equal((await get(own, { ca })).json, false);
});

test('ALPNCallback chooses, declines, and is told of a wrong answer', async (t) => {
  const errors = [];
  const server = await serve(t, {
    ...ec,
    ALPNCallback({ servername, protocols }) {
      assert.equal(servername, 'localhost');
      if (protocols.includes('refuse')) return undefined;
      if (protocols.includes('wrong')) return 'not offered';
      return protocols.at(-1);
    },
  }, describing((socket) => socket.alpnProtocol));
  server.on('tlsClientError', (error) => errors.push(error.code));
  assert.equal((await get(server, { ca, ALPNProtocols: ['x', 'y', 'z'] })).json, 'z');
  assert.notEqual((await failure(server, { ca, ALPNProtocols: ['refuse'] })).code, 'ANSWERED');
  assert.notEqual((await failure(server, { ca, ALPNProtocols: ['wrong'] })).code, 'ANSWERED');
  assert.equal(errors.length, 2);
  assert.equal(errors[1], 'ERR_TLS_ALPN_CALLBACK_INVALID_RESULT');
  assert.throws(() => https.createServer({ ...ec, ALPNProtocols: ['a'], ALPNCallback() {} }), { code: 'ERR_TLS_ALPN_CALLBACK_WITH_PROTOCOLS' });
});

test('setSecureContext changes what new connections get and leaves open ones alone', async (t) => {
  const server = await serve(t, ec);
  const before = await connect(server, { ca });
  assert.equal(before.getPeerCertificate().subject.CN, 'ec');
  server.setSecureContext(rsa);
  const after = await connect(server, { ca });
  assert.equal(after.getPeerCertificate().subject.CN, 'rsa');
  assert.equal((await request(before)).body, 'hello');
  assert.equal((await request(after)).body, 'hello');
  assert.throws(() => server.setSecureContext({ key: 'nonsense', cert: rsa.cert }));
  assert.equal((await get(server, { ca })).body, 'hello');
});

test('versions out of range are refused', async (t) => {
  const only13 = await serve(t, { ...ec, minVersion: 'TLSv1.3' });
  assert.match((await failure(only13, { ca, maxVersion: 'TLSv1.2' })).code, /ALERT_PROTOCOL_VERSION/);
  const only12 = await serve(t, { ...ec, maxVersion: 'TLSv1.2' });
  assert.match((await failure(only12, { ca, minVersion: 'TLSv1.3' })).code, /ALERT_PROTOCOL_VERSION/);
  const old = await serve(t, { ...ec, minVersion: 'TLSv1' });
  assert.equal((await get(old, { ca })).protocol, 'TLSv1.3');
  assert.notEqual((await failure(old, { ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' })).code, 'ANSWERED');
});

test('the server\'s order of suites counts, unless honorCipherOrder is false', async (t) => {
  const ciphers = 'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384';
  const client = { ca, maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256' };
  const ordered = await serve(t, { ...ec, ciphers });
  assert.equal((await get(ordered, client)).cipher.name, 'ECDHE-ECDSA-AES128-GCM-SHA256');
  const unordered = await serve(t, { ...ec, ciphers, honorCipherOrder: false });
  assert.equal((await get(unordered, client)).cipher.name, 'ECDHE-ECDSA-AES256-GCM-SHA384');
  assert.match((await failure(ordered, { ...client, ciphers: 'ECDHE-ECDSA-CHACHA20-POLY1305' })).code, /HANDSHAKE_FAILURE/);
});

test('ecdhCurve chooses the key exchange', async (t) => {
  const server = await serve(t, { ...rsa, ecdhCurve: 'P-384' });
  const { socket } = await get(server, { ca, ecdhCurve: 'X25519:P-384', maxVersion: 'TLSv1.2' });
  assert.equal(socket.authorized, true);
  assert.notEqual((await failure(server, { ca, ecdhCurve: 'X25519' })).code, 'ANSWERED');
});

test('events come in Node\'s order, and a listener gets the socket of the request', async (t) => {
  const log = [];
  let secured;
  const server = await serve(t, ec, (req, res) => {
    log.push('request');
    assert.equal(req.socket, secured);
    res.end('hello');
  });
  server.on('connection', (socket) => log.push(`connection ${typeof socket.remotePort}`));
  server.on('secureConnection', (socket) => {
    secured = socket;
    log.push(`secureConnection ${socket.encrypted} ${socket.getProtocol()}`);
  });
  await get(server, { ca });
  assert.deepEqual(log, ['connection number', 'secureConnection true TLSv1.3', 'request']);
});

test('a client that speaks plain HTTP gets an error, and the server lives on', async (t) => {
  const server = await serve(t, ec);
  const { default: http } = await import('node:http');
  const client = http.get({ port: server.address().port });
  const [[error], [told, socket]] = await Promise.all([once(client, 'error'), once(server, 'tlsClientError')]);
  assert.equal(error.code, 'ECONNRESET');
  assert.equal(told.code, 'ERR_SSL_HTTP_REQUEST');
  assert.ok(socket instanceof tls.TLSSocket);
  assert.equal((await get(server, { ca })).body, 'hello');
});

test('a client that leaves during the handshake is told of', async (t) => {
  const server = await serve(t, ec);
  const { default: net } = await import('node:net');
  const client = net.connect(server.address().port, '127.0.0.1', () => client.end());
  const [error] = await once(server, 'tlsClientError');
  assert.equal(error.code, 'ECONNRESET');
});

test('a handshake that takes too long is ended', async (t) => {
  const server = await serve(t, { ...ec, handshakeTimeout: 80 });
  const { default: net } = await import('node:net');
  const client = net.connect(server.address().port, '127.0.0.1');
  const [[error]] = await Promise.all([once(server, 'tlsClientError'), once(client, 'close')]);
  assert.equal(error.code, 'ERR_TLS_HANDSHAKE_TIMEOUT');
  assert.equal((await get(server, { ca })).body, 'hello');
});

test('clientError is told of TLS failures too', async (t) => {
  const server = await serve(t, { ...ec, minVersion: 'TLSv1.3' });
  const told = once(server, 'clientError');
  await failure(server, { ca, maxVersion: 'TLSv1.2' });
  const [error, socket] = await told;
  assert.match(error.code, /^ERR_SSL_/);
  assert.equal(typeof socket.destroy, 'function');
});

test('keylog gives lines that fit the client\'s', async (t) => {
  const server = await serve(t, ec);
  const lines = [];
  server.on('keylog', (line, socket) => {
    assert.ok(socket instanceof tls.TLSSocket);
    lines.push(line.toString());
  });
  const client = [];
  const socket = tls.connect({ host: '127.0.0.1', port: server.address().port, ca, servername: 'localhost' });
  socket.on('keylog', (line) => client.push(line.toString()));
  await once(socket, 'secureConnect');
  await request(socket);
  assert.ok(lines.length >= 4);
  const theirs = client.filter((line) => /TRAFFIC_SECRET_0/.test(line));
  assert.equal(theirs.length, 2);
  for (const line of theirs) assert.ok(lines.includes(line), line);
});

test('curl and openssl s_client are served', async (t) => {
  const server = await serve(t, rsa);
  const { port } = server.address();
  const { stdout } = await run('curl', ['-sS', '--cacert', workshop.path('root.crt'), '--resolve', `localhost:${port}:127.0.0.1`, `https://localhost:${port}/`]);
  assert.equal(stdout, 'hello');
  for (const version of ['-tls1_2', '-tls1_3']) {
    const child = execFile('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'localhost', '-CAfile', workshop.path('root.crt'), version, '-quiet', '-verify_return_error']);
    child.stdin.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const chunk of child.stdout) text += chunk;
    assert.match(text, /HTTP\/1.1 200 OK[^]*hello/, version);
  }
});

test('a server without a certificate refuses, and one by SNICallback alone serves', async (t) => {
  const bare = await serve(t, {});
  assert.notEqual((await failure(bare, { ca })).code, 'ANSWERED');
  const context = tls.createSecureContext(ec);
  const named = await serve(t, { SNICallback: (_name, callback) => callback(null, context) });
  assert.equal((await get(named, { ca })).body, 'hello');
});

test('the engine serves', { skip: !onEngine && 'reference run on node:https' }, async () => {
  assert.notEqual(https.Server.toString(), tls.Server.toString());
  assert.equal((await import('portico')).status().active, true);
});
