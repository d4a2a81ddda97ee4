// The table of TLS options: each row is honoured, translated or refused by name; none is ignored in silence.
// Runs on a stand-in for the add-on, which shows what the engine is told.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';

const require = createRequire(import.meta.url);
const contexts = [];
const engine = {
  setSlab() {},
  submit() {},
  createTlsContext(options) {
    contexts.push(options);
    return contexts.length;
  },
  releaseTlsContext() {},
};
require('../dist/native/load.js').setBinding({ version: () => '0.0.0', createEngine: () => engine });
const { createServer } = require('../dist/https/index.js');
const { TLS_OPTIONS } = require('../dist/tls/options.js');
const tls = require('node:tls');
const { constants } = require('node:crypto');

const workshop = certificates();
const pair = workshop.issue('server');
const rsa = workshop.issue('rsa', { type: 'rsa' });

/** What the engine is told of a server with these options. */
function told(options) {
  const server = createServer({ ...pair, ...options });
  return { server, ...contexts.at(-1) };
}

const base = told({});

/** For each option: values that must change what the engine is told (or the listener), and values that must throw. */
const PROBES = {
  ALPNProtocols: { changes: [[['a', 'b']]], reads: (seen) => seen.alpn },
  ALPNCallback: { changes: [[() => undefined]], reads: (seen) => provider(seen).askAlpn },
  clientCertEngine: { throws: ['pkcs11'] },
  enableTrace: { throws: [true], same: [false] },
  handshakeTimeout: { changes: [[500]], reads: (seen) => provider(seen).handshakeTimeout },
  rejectUnauthorized: { changes: [[false]], reads: (seen) => seen.rejectUnauthorized },
  requestCert: { changes: [[true]], reads: (seen) => seen.requestCert },
  sessionTimeout: { changes: [[60]], reads: (seen) => seen.sessionTimeout },
  SNICallback: { changes: [[() => undefined]], reads: (seen) => provider(seen).askServerName },
  ticketKeys: { changes: [[Buffer.alloc(48, 7)]], reads: (seen) => Buffer.from(seen.ticketKeys).toString('hex') },
  pskCallback: { throws: [() => null] },
  pskIdentityHint: { throws: ['hint'] },
  allowPartialTrustChain: { changes: [[true]], reads: (seen) => seen.allowPartialTrustChain, same: [false] },
  ca: { with: { requestCert: true }, changes: [[workshop.root.cert]], reads: (seen) => seen.ca.length },
  cert: { changes: [[pair.cert + workshop.root.cert]], reads: (seen) => seen.identities[0].chain.length },
  certificateCompression: { throws: [['zlib']], same: [[]], since: 26 },
  sigalgs: { changes: [['ECDSA+SHA256']], throws: ['ed448'], reads: (seen) => seen.signatureSchemes },
  ciphers: { changes: [['ECDHE-RSA-AES128-GCM-SHA256']], throws: ['AES128-SHA'], reads: (seen) => seen.cipherSuites },
  crl: { with: { requestCert: true, ca: workshop.root.cert }, changes: [[workshop.revocationList('root')]], reads: (seen) => seen.crl.length },
  dhparam: { throws: ['-----BEGIN DH PARAMETERS-----\nMAYCAQMCAQI=\n-----END DH PARAMETERS-----\n'], same: ['auto'] },
  ecdhCurve: { changes: [['P-256']], throws: ['P-521'], reads: (seen) => seen.namedGroups },
  honorCipherOrder: { changes: [[false]], reads: (seen) => seen.honorCipherOrder },
  key: { with: { cert: rsa.cert }, changes: [[rsa.key]], reads: (seen) => seen.identities.length },
  privateKeyEngine: { throws: ['engine'] },
  privateKeyIdentifier: { throws: ['id'] },
  maxVersion: { changes: [['TLSv1.2']], throws: ['TLSv1.1'], reads: (seen) => seen.maxVersion },
  minVersion: { changes: [['TLSv1.3']], reads: (seen) => seen.minVersion, same: ['TLSv1'] },
  passphrase: {
    with: { key: workshop.encryptedKey('rsa', 'secret'), cert: rsa.cert }, changes: [['secret']], from: null,
    reads: (seen) => seen.identities.length,
  },
  pfx: { with: { key: undefined, cert: undefined, passphrase: 'p' }, changes: [[workshop.pfx('rsa', 'p')]], reads: (seen) => seen.pfx?.length },
  secureOptions: { changes: [[constants.SSL_OP_NO_TLSv1_3]], throws: [constants.SSL_OP_PRIORITIZE_CHACHA], reads: (seen) => seen.maxVersion },
  secureProtocol: { changes: [['TLSv1_2_method']], throws: ['TLSv1_method'], reads: (seen) => seen.maxVersion },
  sessionIdContext: {
    with: { ticketKeys: Buffer.alloc(48, 1) }, changes: [['mine']], reads: (seen) => Buffer.from(seen.ticketKeys).toString('hex'),
  },
};

function provider({ server }) {
  const symbol = Object.getOwnPropertySymbols(server).find(({ description }) => description === 'portico.tls-provider');
  return server[symbol].listenerOptions(engine);
}

test('every row of the table has a probe, and the other way round', () => {
  assert.deepEqual(Object.keys(PROBES).sort(), TLS_OPTIONS.map(({ name }) => name).sort());
});

for (const row of TLS_OPTIONS) {
  const probe = PROBES[row.name];

  test(`${row.name} is ${row.verdict}`, () => {
    for (const [value] of probe.changes ?? []) {
      const after = probe.reads(told({ ...probe.with, [row.name]: value }));
      const before = probe.from === null ? undefined : probe.reads(told(probe.with ?? {}));
      assert.notDeepEqual(after, before, `${row.name} changes nothing`);
    }
    for (const value of probe.throws ?? []) {
      assert.throws(() => told({ ...probe.with, [row.name]: value }), (error) => {
        // What Node or OpenSSL refuses is refused in their words.
        if (error.code !== 'ERR_PORTICO_TLS_OPTION') return true;
        assert.equal(error.option, row.name);
        assert.match(error.message, new RegExp(`'${row.name}'`));
        assert.match(error.message, /\. [A-Z]/, 'says what to use');
        return true;
      });
    }
    for (const value of probe.same ?? []) {
      const { server, ...seen } = told({ [row.name]: value });
      assert.ok(server);
      const { server: _, ...expected } = base;
      assert.deepEqual(seen, expected);
    }
    assert.equal((probe.changes ?? []).length > 0, row.verdict !== 'default only');
  });
}

test('every option that Node documents has a row', () => {
  // What Node's own setSecureContext passes on, read from what it calls tls.createSecureContext with.
  const seen = new Set();
  const original = tls.createSecureContext;
  tls.createSecureContext = (options) => {
    for (const name of Object.keys(options ?? {})) seen.add(name);
    return original(options);
  };
  try {
    createServer(pair);
  } finally {
    tls.createSecureContext = original;
  }
  const rows = new Set(TLS_OPTIONS.map(({ name }) => name));
  for (const name of seen) assert.ok(rows.has(name), name);
});

test('the documentation has the table', () => {
  const text = readFileSync(new URL('../../../docs/tls.md', import.meta.url), 'utf8');
  for (const { name, verdict, note } of TLS_OPTIONS) assert.ok(text.includes(`| \`${name}\` | ${verdict} | ${note} |`), name);
});

test('keys that rustls can\'t use are refused by name', () => {
  workshop.run(['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024', '-out', 'small.key']);
  workshop.run(['req', '-x509', '-new', '-key', 'small.key', '-out', 'small.crt', '-days', '2', '-subj', '/CN=small']);
  workshop.run(['genpkey', '-algorithm', 'ED448', '-out', 'ed448.key']);
  workshop.run(['req', '-x509', '-new', '-key', 'ed448.key', '-out', 'ed448.crt', '-days', '2', '-subj', '/CN=ed448']);
  workshop.run(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:secp256k1', '-out', 'k1.key']);
  workshop.run(['req', '-x509', '-new', '-key', 'k1.key', '-out', 'k1.crt', '-days', '2', '-subj', '/CN=k1']);
  for (const [name, text] of [['ed448', /type ed448/], ['k1', /curve secp256k1/], ['small', /1024 bits/]]) {
    const options = { ...workshop.pair(name), ciphers: `${tls.DEFAULT_CIPHERS}:@SECLEVEL=1` };
    assert.throws(() => createServer(options), { code: 'ERR_PORTICO_TLS_OPTION', option: 'key', message: text });
  }
});

test('events that need OpenSSL say so when a listener is added', () => {
  const { server } = told({});
  for (const event of ['newSession', 'resumeSession', 'OCSPRequest']) {
    for (const method of ['on', 'once', 'addListener', 'prependListener', 'prependOnceListener']) {
      assert.throws(() => server[method](event, () => {}), { code: 'ERR_PORTICO_TLS_OPTION', message: new RegExp(event) });
    }
  }
});

test('a keylog listener makes the engine log keys', () => {
  const { server } = told({});
  assert.equal(contexts.at(-1).keyLog, false);
  server.once('keylog', () => {});
  assert.equal(contexts.at(-1).keyLog, true);
});

test('a SecureContext of unknown make is refused with the reason', () => {
  const { server } = told({});
  const { context } = tls.createSecureContext(pair);
  assert.doesNotThrow(() => server.addContext('a.test', { ...pair }));
  const stranger = Object.create(tls.createSecureContext({}).constructor.prototype, { context: { value: Object.create(Object.getPrototypeOf(context)) } });
  assert.throws(() => server.addContext('b.test', stranger), { code: 'ERR_PORTICO_TLS_OPTION', option: 'addContext', message: /made before Portico was loaded/ });
});

test('a context of addContext keeps its own suites and trust, and takes the server\'s versions', () => {
  const { server } = told({ minVersion: 'TLSv1.3', requestCert: true, ca: workshop.root.cert, ALPNProtocols: ['x'] });
  server.addContext('a.test', { ...rsa, ca: [workshop.root.cert, workshop.other.cert], ciphers: 'TLS_AES_128_GCM_SHA256' });
  const seen = contexts.at(-1);
  assert.equal(seen.minVersion, 0x304);
  assert.deepEqual(seen.cipherSuites, [0x1301]);
  assert.equal(seen.ca.length, 2);
  assert.deepEqual(seen.alpn, ['x']);
});
