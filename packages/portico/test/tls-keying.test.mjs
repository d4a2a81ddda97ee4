// What a server's socket tells of its handshake: the same as the client's socket, which is OpenSSL's, and as node:https.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';
import { connect, describing, failure, once, onEngine, request, serve } from './support/https.mjs';

const workshop = certificates();
const ec = workshop.issue('server');
const rsa = workshop.issue('rsa-server', { type: 'rsa' });
const ca = workshop.root.cert;

const EXPORTS = [
  [32, 'EXPERIMENTAL-portico'], [32, 'EXPERIMENTAL-portico', ''], [32, 'EXPERIMENTAL-portico', 'context'],
  [1, 'label'], [100, 'EXPORTER-Channel-Binding', ''], [48, 'x', 'y'.repeat(300)], [500, ''],
];
const exported = (socket) => EXPORTS.map(([length, label, context]) =>
  socket.exportKeyingMaterial(length, label, context === undefined ? undefined : Buffer.from(context)).toString('hex'));

const SUITES = [
  ['TLSv1.3', 'TLS_AES_256_GCM_SHA384'], ['TLSv1.3', 'TLS_AES_128_GCM_SHA256'], ['TLSv1.3', 'TLS_CHACHA20_POLY1305_SHA256'],
  ['TLSv1.2', 'ECDHE-ECDSA-AES256-GCM-SHA384'], ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLSv1.2', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
];

for (const [version, ciphers] of SUITES) {
  test(`${ciphers}: both ends tell the same, also of a resumed session`, async (t) => {
    const server = await serve(t, ec, describing((socket) => ({
      finished: socket.getFinished().toString('hex'), peer: socket.getPeerFinished().toString('hex'), exported: exported(socket),
      reused: socket.isSessionReused(),
    })));
    let session;
    for (const resumed of [false, true]) {
      const socket = await connect(server, { ca, session, minVersion: version, maxVersion: version, ciphers });
      socket.on('session', (latest) => { session = latest; });
      session = socket.getSession();
      const own = { finished: socket.getPeerFinished().toString('hex'), peer: socket.getFinished().toString('hex'), exported: exported(socket) };
      assert.deepEqual((await request(socket)).json, { ...own, reused: resumed });
    }
  });
}

test('exportKeyingMaterial checks its arguments as Node does', async (t) => {
  const server = await serve(t, ec, describing((socket) => [[], [0, 'x'], ['1', 'x'], [1], [1, 'x', 'y'], [2 ** 32, 'x']].map((args) => {
    try {
      return socket.exportKeyingMaterial(...args);
    } catch (error) {
      return error.code;
    }
  })));
  const socket = await connect(server, { ca });
  assert.deepEqual((await request(socket)).json, [
    'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE', 'ERR_INVALID_ARG_TYPE', 'ERR_INVALID_ARG_TYPE', 'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE',
  ]);
});

test('what no protocol can export throws', async (t) => {
  const server = await serve(t, ec, describing((socket) => {
    try {
      return socket.exportKeyingMaterial(100_000, 'x').length;
    } catch (error) {
      return error instanceof Error;
    }
  }));
  const socket = await connect(server, { ca, minVersion: 'TLSv1.3' });
  assert.equal((await request(socket)).json, true);
});

test('before the handshake is done, exportKeyingMaterial throws and there are no Finished messages', async (t) => {
  let asked;
  const heard = new Promise((resolve) => { asked = resolve; });
  const server = await serve(t, {
    ...ec,
    SNICallback(servername, done) {
      if (onEngine) {
        assert.equal(this._secureEstablished, false);
        assert.throws(() => this.exportKeyingMaterial(1, 'x'), { code: 'ERR_TLS_INVALID_STATE' });
        assert.equal(this.getFinished(), undefined);
        assert.deepEqual(this.getSharedSigalgs(), []);
      }
      asked();
      done(null);
    },
  });
  server.on('tlsClientError', () => {});
  const client = connect(server, { ca, servername: 'localhost' });
  await heard;
  (await client).destroy();
});

/** Names of what both ends have, by openssl's client with these arguments. */
async function shared(t, pair, ...args) {
  let told;
  const server = await serve(t, pair.options ?? pair, (req, res) => {
    told = req.socket.getSharedSigalgs();
    res.end();
  });
  const child = execFile('openssl', ['s_client', '-connect', `127.0.0.1:${server.address().port}`, '-servername', 'localhost', ...args]);
  child.stdin.on('error', () => {});
  child.stdin.end('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  child.stdout.resume();
  const [response] = await once(server, 'request').then(([, res]) => [res]);
  if (!response.writableFinished) await once(response, 'finish');
  child.kill();
  return told;
}

test('the shared signature algorithms come under Node\'s names, in the server\'s order', async (t) => {
  const list = 'RSA-PSS+SHA512:ECDSA+SHA384:ECDSA+SHA256:ed25519:RSA+SHA256:RSA-PSS+SHA256';
  for (const version of ['-tls1_2', '-tls1_3']) {
    assert.deepEqual(await shared(t, rsa, version, '-sigalgs', list), [
      'ECDSA+SHA256', 'ECDSA+SHA384', 'Ed25519+UNDEF', 'RSA-PSS+SHA256', 'RSA-PSS+SHA512', 'RSA+SHA256',
    ]);
    assert.deepEqual(await shared(t, { ...rsa, honorCipherOrder: false }, version, '-sigalgs', list), [
      'RSA-PSS+SHA512', 'ECDSA+SHA384', 'ECDSA+SHA256', 'Ed25519+UNDEF', 'RSA+SHA256', 'RSA-PSS+SHA256',
    ]);
    assert.deepEqual(await shared(t, { ...rsa, sigalgs: 'RSA+SHA256:RSA-PSS+SHA256:ECDSA+SHA512' }, version, '-sigalgs', list),
      ['RSA+SHA256', 'RSA-PSS+SHA256']);
  }
});

test('what only a client has is null or undefined on a server', async (t) => {
  const server = await serve(t, ec, describing((socket) => [
    socket.getEphemeralKeyInfo() === null, socket.getTLSTicket() === undefined,
  ]));
  const socket = await connect(server, { ca });
  assert.deepEqual((await request(socket)).json, [true, true]);
});
