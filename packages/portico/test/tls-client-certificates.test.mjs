// Client certificates: who is let in, and what a socket says of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';
import { describing, failure, get, onEngine, once, serve, tls } from './support/https.mjs';

const workshop = certificates();
const server = workshop.issue('server');
const ca = workshop.root.cert;
const { intermediate, other } = workshop;

const good = workshop.issue('good', { extensions: 'client' });
const below = workshop.issue('below', { issuer: 'intermediate', extensions: 'client' });
const expired = workshop.issue('expired', { extensions: 'client', start: '20200101000000Z', end: '20200201000000Z' });
const early = workshop.issue('early', { extensions: 'client', start: '20990101000000Z', end: '20990201000000Z' });
const wrongUse = workshop.issue('wrong-use', { extensions: 'server' });
const stranger = workshop.issue('stranger', { issuer: 'other', extensions: 'client' });
const selfSigned = workshop.selfSignedClient('self-signed');
const revoked = workshop.issue('revoked', { extensions: 'client' });
const withoutUse = workshop.issue('without-use', { extensions: 'any' });

/** Client, what `authorized` says, and `authorizationError`. */
const MATRIX = [
  ['a good certificate', good, true, null],
  ['a certificate without extended key usage', withoutUse, true, null],
  ['none', {}, false, 'UNABLE_TO_GET_ISSUER_CERT'],
  ['a chain of two', { key: below.key, cert: below.cert + intermediate.cert }, true, null],
  ['a leaf whose issuer neither side has', below, false, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['an expired one', expired, false, 'CERT_HAS_EXPIRED'],
  ['one for the future', early, false, 'CERT_NOT_YET_VALID'],
  ['one for servers', wrongUse, false, 'INVALID_PURPOSE'],
  ['one of another authority', stranger, false, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['one of another authority, with its root', { key: stranger.key, cert: stranger.cert + other.cert }, false, 'SELF_SIGNED_CERT_IN_CHAIN'],
  ['one that signed itself', selfSigned, false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
];

const said = describing((socket) => ({ authorized: socket.authorized, error: socket.authorizationError, subject: socket.getPeerCertificate().subject?.CN }));

for (const version of ['TLSv1.2', 'TLSv1.3']) {
  const range = { minVersion: version, maxVersion: version };

  for (const [name, client, authorized, error] of MATRIX) {
    test(`${version}: ${name} is ${authorized ? 'authorized' : 'not authorized, and told'}`, async (t) => {
      const https = await serve(t, { ...server, ca, requestCert: true, rejectUnauthorized: false }, said);
      const { json } = await get(https, { ca, ...client, ...range });
      assert.equal(json.authorized, authorized);
      assert.equal(json.error, error);
    });

    test(`${version}: ${name} is ${authorized ? 'let in' : 'refused'} with rejectUnauthorized`, async (t) => {
      const https = await serve(t, { ...server, ca, requestCert: true }, said);
      if (authorized) {
        assert.equal((await get(https, { ca, ...client, ...range })).json.authorized, true);
      } else {
        const told = once(https, 'tlsClientError');
        assert.notEqual((await failure(https, { ca, ...client, ...range })).code, 'ANSWERED');
        const [failed] = await told;
        assert.equal(typeof failed.code, 'string');
      }
    });
  }
}

test('requestCert is off by default, and a certificate is not asked for', async (t) => {
  const https = await serve(t, { ...server, ca }, said);
  assert.deepEqual((await get(https, { ca, ...good })).json, { authorized: false, error: null });
});

test('a revoked certificate is told by the revocation list', async (t) => {
  const crl = workshop.revocationList('root', 'revoked');
  const https = await serve(t, { ...server, ca, crl, requestCert: true, rejectUnauthorized: false }, said);
  assert.deepEqual((await get(https, { ca, ...revoked })).json, { authorized: false, error: 'CERT_REVOKED', subject: 'revoked' });
  assert.equal((await get(https, { ca, ...good })).json.authorized, true);
});

test('an intermediate in ca completes a chain, but ends none', async (t) => {
  const complete = await serve(t, { ...server, ca: [ca, intermediate.cert], requestCert: true, rejectUnauthorized: false }, said);
  assert.equal((await get(complete, { ca, ...below })).json.authorized, true);
  const rootless = await serve(t, { ...server, ca: [intermediate.cert], requestCert: true, rejectUnauthorized: false }, said);
  const { json } = await get(rootless, { ca, ...below });
  assert.equal(json.authorized, false);
  assert.match(json.error, /^UNABLE_TO_GET_ISSUER_CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE/);
});

test('with allowPartialTrustChain any certificate of ca ends a chain', async (t) => {
  const base = { ...server, requestCert: true, rejectUnauthorized: false };
  // Node's server passes the option over; its contexts know it.
  const serving = (trust, allowPartialTrustChain) => {
    const context = tls.createSecureContext({ ...server, ca: trust, allowPartialTrustChain });
    return serve(t, { ...base, ca: trust, SNICallback: (_name, done) => done(null, context) }, said);
  };
  const options = { ca, ...below };
  assert.equal((await get(await serving(intermediate.cert, false), options)).json.authorized, false);
  const partial = await serving(intermediate.cert, true);
  assert.deepEqual((await get(partial, options)).json, { authorized: true, error: null, subject: 'below' });
  assert.equal((await get(partial, { ca, ...good })).json.error, 'SELF_SIGNED_CERT_IN_CHAIN');
  assert.equal((await get(await serving(below.cert, true), options)).json.authorized, true);
  assert.equal((await get(await serving(expired.cert, true), { ca, ...expired })).json.error, 'CERT_HAS_EXPIRED');
  if (onEngine) {
    const own = await serve(t, { ...base, ca: intermediate.cert, allowPartialTrustChain: true }, said);
    assert.equal((await get(own, options)).json.authorized, true);
  }
});

test('several authorities, in one file or many, are all trusted', async (t) => {
  for (const trust of [[ca, other.cert], ca + other.cert, Buffer.from(other.cert + ca)]) {
    const https = await serve(t, { ...server, ca: trust, requestCert: true }, said);
    assert.equal((await get(https, { ca, ...good })).json.subject, 'good');
    assert.equal((await get(https, { ca, ...stranger })).json.subject, 'stranger');
  }
});

test('getPeerCertificate gives Node\'s object, and with true the chain', async (t) => {
  const https = await serve(t, { ...server, ca, requestCert: true }, describing((socket) => {
    const plain = socket.getPeerCertificate();
    const detailed = socket.getPeerCertificate(true);
    const subjects = [];
    for (let link = detailed; link !== undefined; link = link.issuerCertificate === link ? undefined : link.issuerCertificate) {
      subjects.push(link.subject.CN);
    }
    return {
      subjects, subject: plain.subject, issuer: plain.issuer, keys: Object.keys(plain).sort(), fingerprint256: plain.fingerprint256,
      linked: 'issuerCertificate' in plain, raw: plain.raw.toString('base64'), x509: socket.getPeerX509Certificate().toString(),
      from: plain.valid_from, serial: plain.serialNumber, curve: plain.nistCurve,
    };
  }));
  const { json } = await get(https, { ca, key: below.key, cert: below.cert + intermediate.cert });
  // node:https of version 24 gives the leaf only, against its documentation.
  const chainless = !onEngine && process.versions.node.startsWith('24.');
  if (!chainless) assert.deepEqual(json.subjects, ['below', 'Portico Test Intermediate', 'Portico Test Root']);
  assert.deepEqual(json.subject, { O: 'Portico', CN: 'below' });
  assert.deepEqual(json.issuer, { O: 'Portico', CN: 'Portico Test Intermediate' });
  assert.equal(json.linked, false);
  assert.equal(json.curve, 'P-256');
  assert.equal(json.x509.trim(), below.cert.trim());
  for (const key of ['subject', 'issuer', 'ca', 'bits', 'pubkey', 'valid_from', 'valid_to', 'fingerprint', 'fingerprint256', 'fingerprint512', 'ext_key_usage', 'serialNumber', 'raw']) {
    assert.ok(json.keys.includes(key), key);
  }
});

test('infoAccess of a peer is a map of lists', async (t) => {
  const https = await serve(t, { ...server, ca, requestCert: true, rejectUnauthorized: false }, describing((socket) => socket.getPeerCertificate().infoAccess));
  assert.deepEqual((await get(https, { ca, ...wrongUse })).json, { 'CA Issuers - URI': ['http://authority.test/ca.crt'] });
});

test('the client is told which authorities are asked for', async (t) => {
  const https = await serve(t, { ...server, ca, requestCert: true, rejectUnauthorized: false }, said);
  const { execFile } = await import('node:child_process');
  const child = execFile('openssl', ['s_client', '-connect', `127.0.0.1:${https.address().port}`, '-servername', 'localhost']);
  child.stdin.end('');
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  assert.match(text, /Acceptable client certificate CA names\n[^\n]*Portico Test Root/);
});

test('a refused client gets an alert that says why', { skip: !onEngine && 'node:https drops the connection' }, async (t) => {
  const https = await serve(t, { ...server, ca, requestCert: true });
  assert.match((await failure(https, { ca, ...expired })).code, /CERTIFICATE_EXPIRED/);
});
