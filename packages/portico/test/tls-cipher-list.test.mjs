// The evaluation of OpenSSL's cipher lists, compared with OpenSSL itself: what a client of Node's offers for a list.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import tls from 'node:tls';

const require = createRequire(import.meta.url);
const { evaluateCipherList } = require('../dist/tls/cipher-list.js');
const { suiteById, TLS12_SUITES, TLS13_SUITES } = require('../dist/tls/cipher-suites.js');
const { namedGroups } = require('../dist/tls/named-groups.js');
const { signatureSchemes } = require('../dist/tls/signature-schemes.js');
const { versionRange } = require('../dist/tls/versions.js');
const { readSecureOptions } = require('../dist/tls/secure-options.js');
const { constants } = await import('node:crypto');

const known = new Set(tls.getCiphers());
const evaluate = (list) => evaluateCipherList(list, tls.DEFAULT_CIPHERS, known);
const names = (list) => evaluate(list).suites.map((suite) => suite.name).join(':');

/** The suites in the ClientHello that OpenSSL writes for a list, as far as the engine has them. */
async function offered(ciphers) {
  const hello = await new Promise((resolve) => {
    const transport = new Duplex({
      read() {},
      write(chunk) { resolve(chunk); },
    });
    const client = tls.connect({ socket: transport, ciphers, minVersion: 'TLSv1.2' });
    client.on('error', () => {});
  });
  // Record header 5, handshake header 4, version 2, random 32, session id.
  const list = 43 + 1 + hello[43];
  const count = hello.readUInt16BE(list) / 2;
  return Array.from({ length: count }, (_, index) => suiteById(hello.readUInt16BE(list + 2 + index * 2))?.name)
    .filter((name) => name !== undefined).join(':');
}

test('a list comes to the suites, in the order, that OpenSSL offers for it', async () => {
  const lists = [
    tls.DEFAULT_CIPHERS,
    'ALL', 'HIGH', 'HIGH:!aNULL', 'DEFAULT', 'HIGH:!aNULL:!kRSA:!PSK:!SRP:!MD5:!RC4',
    'ECDHE+AESGCM', 'EECDH+AESGCM:EDH+AESGCM', 'EECDH+CHACHA20:EECDH+AES128:EECDH+AES256', 'ECDHE+CHACHA20:ALL',
    'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384',
    'ALL:-AES256', 'ALL:-AES256:ALL', 'ALL:-AES:CHACHA20:AES', 'ALL:+aRSA', 'ALL:+ECDHE+AESGCM', 'ALL:!AES128',
    'AES128:AES256:CHACHA20', 'AES128+aECDSA:ALL', 'AES128:CHACHA20:AES256:@STRENGTH', 'aRSA', 'aECDSA', 'ECDSA:aRSA:!CHACHA20',
    'TLSv1.2', 'kEECDH:!aECDSA', 'HIGH:nonsense:!alsonothing', 'HIGH,!AES256 !CHACHA20', 'AESGCM', 'AES',
    'TLS_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-RSA-AES128-GCM-SHA256',
    'TLS_CHACHA20_POLY1305_SHA256:HIGH', 'ALL@SECLEVEL=0', 'HIGH:@SECLEVEL=2', 'FIPS', 'ECDHE+FIPS',
  ];
  for (const list of lists) assert.equal(names(list), await offered(list), list);
});

test('an order that TLS clients are known by is kept', () => {
  assert.equal(names(tls.DEFAULT_CIPHERS).split(':').slice(0, 4).join(' '),
    'TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256 TLS_AES_128_GCM_SHA256 ECDHE-RSA-AES128-GCM-SHA256');
});

test('a named suite that Portico does not have throws, with the list without it', () => {
  const list = 'ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256:AES256-SHA';
  assert.throws(() => evaluate(list), {
    code: 'ERR_PORTICO_TLS_OPTION', option: 'ciphers',
    message: /names cipher suites that Portico doesn't have: DHE-RSA-AES128-GCM-SHA256, AES256-SHA\. Without them the list is '.*ECDHE-RSA-AES128-GCM-SHA256'/,
  });
  assert.throws(() => evaluate('TLS_AES_128_CCM_SHA256'), { code: 'ERR_PORTICO_TLS_OPTION', message: /TLS_AES_128_CCM_SHA256/ });
  assert.throws(() => evaluate('kRSA'), { code: 'ERR_PORTICO_TLS_OPTION', message: /leaves no TLS 1\.2 cipher suite/ });
  assert.doesNotThrow(() => evaluate(`${tls.DEFAULT_CIPHERS}:!AES256`));
});

test('the security level is read, and TLS 1.2 is told to be absent', () => {
  assert.equal(evaluate('ALL:@SECLEVEL=0').securityLevel, 0);
  assert.equal(evaluate('ALL').securityLevel, 1);
  assert.equal(evaluate('TLS_AES_128_GCM_SHA256').tls12, false);
  assert.equal(TLS12_SUITES.length + TLS13_SUITES.length, evaluate('ALL').suites.length);
});

test('curves are found under each of their names', () => {
  assert.deepEqual(namedGroups('auto'), []);
  assert.deepEqual(namedGroups('X25519:prime256v1:P-384'), [0x1d, 0x17, 0x18]);
  assert.deepEqual(namedGroups('secp384r1:secp256r1:P-256'), [0x18, 0x17]);
  assert.deepEqual(namedGroups('?X448:X25519MLKEM768/x25519'), [0x11ec, 0x1d]);
  assert.throws(() => namedGroups('P-521'), { code: 'ERR_PORTICO_TLS_OPTION', option: 'ecdhCurve', message: /'P-521'/ });
});

test('signature algorithms are found under each of their names', () => {
  assert.deepEqual(signatureSchemes('RSA-PSS+SHA256:ecdsa_secp256r1_sha256:ed25519'), [0x0804, 0x0403, 0x0807]);
  assert.throws(() => signatureSchemes('RSA+SHA1'), { code: 'ERR_PORTICO_TLS_OPTION', option: 'sigalgs' });
});

test('versions are 1.2 and 1.3, and a lower bound below is 1.2 as in OpenSSL 3', () => {
  const defaults = { min: 'TLSv1.2', max: 'TLSv1.3' };
  const range = (options, level = 1) => versionRange(options, defaults, level);
  assert.deepEqual(range({}), { min: 0x303, max: 0x304 });
  assert.deepEqual(range({ minVersion: 'TLSv1' }), { min: 0x303, max: 0x304 });
  assert.deepEqual(range({ minVersion: 'TLSv1.3' }), { min: 0x304, max: 0x304 });
  assert.deepEqual(range({ secureProtocol: 'TLSv1_2_server_method' }), { min: 0x303, max: 0x303 });
  assert.deepEqual(range({ secureProtocol: 'TLS_method' }), { min: 0x303, max: 0x304 });
  assert.throws(() => range({ minVersion: 'TLSv1' }, 0), { option: 'minVersion', code: 'ERR_PORTICO_TLS_OPTION' });
  assert.throws(() => range({ maxVersion: 'TLSv1.1' }), { option: 'maxVersion' });
  assert.throws(() => range({ secureProtocol: 'TLSv1_method' }), { option: 'secureProtocol' });
});

test('secureOptions are taken apart bit by bit', () => {
  const none = { noTls12: false, noTls13: false, noTickets: false, serverPreference: false };
  assert.deepEqual(readSecureOptions(0), none);
  assert.deepEqual(readSecureOptions(constants.SSL_OP_ALL | constants.SSL_OP_NO_SSLv3 | constants.SSL_OP_NO_TLSv1), none);
  assert.deepEqual(readSecureOptions(constants.SSL_OP_NO_TLSv1_2 | constants.SSL_OP_NO_TICKET), { ...none, noTls12: true, noTickets: true });
  for (const bit of ['SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION', 'SSL_OP_PRIORITIZE_CHACHA']) {
    assert.throws(() => readSecureOptions(constants[bit]), { option: 'secureOptions', message: new RegExp(bit) });
  }
  assert.throws(() => readSecureOptions(1), { message: /0x1/ });
});
