// Which path from a client's certificate to a trusted one counts. Run with PORTICO_DISABLE=1 the rows hold for node:https.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';
import { describing, get, serve, tls } from './support/https.mjs';

const workshop = certificates();
const server = workshop.issue('server');

const AUTHORITY = ['basicConstraints=critical,CA:true', 'keyUsage=critical,keyCertSign,cRLSign'];
const KEY_IDS = ['subjectKeyIdentifier=hash', 'authorityKeyIdentifier=keyid'];
const CLIENT = ['basicConstraints=critical,CA:false', 'keyUsage=critical,digitalSignature', 'extendedKeyUsage=clientAuth', ...KEY_IDS];
const PAST = { start: '20200101000000Z', end: '20210101000000Z' };

const root = (name, more = {}) => workshop.certify(name, { extensions: [...AUTHORITY, 'subjectKeyIdentifier=hash'], ...more });
const authority = (name, issuer, more = {}) => workshop.certify(name, { issuer, extensions: [...AUTHORITY, ...KEY_IDS], ...more });
const client = (name, issuer, more = [], rest = {}) => workshop.certify(name, { issuer, extensions: [...CLIENT, ...more], ...rest });

const main = root('path-root');
const middle = authority('path-middle', 'path-root');

/** Name, `ca`, what the client sends, `authorizationError` (null: authorized), and further options of the server. */
const rows = [];
const row = (name, ca, leaf, others, error, options = {}) => {
  rows.push([name, { ca, ...options }, { key: leaf.key, cert: [leaf, ...others].map(({ cert }) => cert).join('') }, error]);
};

// An intermediate must say that it is an authority.
const unmarked = workshop.certify('unmarked', {
  issuer: 'path-root', extensions: ['keyUsage=critical,keyCertSign,digitalSignature', 'extendedKeyUsage=clientAuth', ...KEY_IDS],
});
const denied = workshop.certify('denied', {
  issuer: 'path-root', extensions: ['basicConstraints=critical,CA:false', 'keyUsage=critical,keyCertSign', ...KEY_IDS],
});
row('a chain of three', [main.cert], client('below-middle', 'path-middle'), [middle], null);
row('an intermediate without basicConstraints', [main.cert], client('below-unmarked', 'unmarked'), [unmarked], 'INVALID_CA');
row('an intermediate that denies to be one', [main.cert], client('below-denied', 'denied'), [denied], 'INVALID_PURPOSE');
const marked = workshop.certify('keyed-root', { extensions: ['keyUsage=critical,keyCertSign,cRLSign', 'subjectKeyIdentifier=hash'] });
row('a root that is one by its keyUsage alone', [marked.cert], client('below-keyed', 'keyed-root'), [], null);

// Of an expired and a renewed authority of one key and name, the valid one is taken.
const renewed = root('renewed', { subject: 'path renewed' });
const lapsed = root('lapsed', { key: 'renewed', subject: 'path renewed', ...PAST });
const ofRenewed = client('of-renewed', 'renewed');
row('an expired root and its renewal', [lapsed.cert, renewed.cert], ofRenewed, [], null);
row('a renewed root and its predecessor', [renewed.cert, lapsed.cert], ofRenewed, [], null);
row('an expired root alone', [lapsed.cert], ofRenewed, [], 'CERT_HAS_EXPIRED');
const lapsedMiddle = authority('lapsed-middle', 'path-root', { key: 'path-middle', subject: 'path-middle', ...PAST });
row('an expired intermediate and its renewal', [main.cert], client('of-both', 'path-middle'), [lapsedMiddle, middle], null);

// Self-issued certificates do not count towards the path length (RFC 5280, section 4.2.1.9).
const short = root('short', { extensions: ['basicConstraints=critical,CA:true,pathlen:0', 'keyUsage=critical,keyCertSign', 'subjectKeyIdentifier=hash'] });
const rolled = authority('rolled', 'short', { subject: 'short' });
const tooDeep = authority('too-deep', 'short');
row('a root that issued itself a new key', [short.cert], client('of-rolled', 'rolled'), [rolled], null);
row('an authority below a root that allows none', [short.cert], client('of-too-deep', 'too-deep'), [tooDeep], 'PATH_LENGTH_EXCEEDED');

// Authorities that are limited to names of other kinds than DNS.
const limited = (name, constraint) => authority(name, 'path-root', { extensions: [...AUTHORITY, ...KEY_IDS, `nameConstraints=critical,${constraint}`] });
const mailOnly = limited('mail-only', 'permitted;email:inside.test');
const noMail = limited('no-mail', 'excluded;email:inside.test');
row('a mail address that its authority may issue for', [main.cert], client('mail-in', 'mail-only', ['subjectAltName=email:u@inside.test']), [mailOnly], null);
row('a mail address outside of that', [main.cert], client('mail-out', 'mail-only', ['subjectAltName=email:u@outside.test']), [mailOnly], 'UNSPECIFIED');
row('a mail address that its authority may not issue for', [main.cert], client('mail-no', 'no-mail', ['subjectAltName=email:u@inside.test']), [noMail], 'UNSPECIFIED');
const directory = (name, allowed) => limited(name, `permitted;dirName:${name}\n[${name}]\nCN=${allowed}\n[unused]`);
const directoryOnly = directory('directory-only', 'directory-in');
row('a directory name that its authority may issue for', [main.cert], client('directory-in', 'directory-only'), [directoryOnly], null);
row('a directory name outside of that', [main.cert], client('directory-out', 'directory-only'), [directoryOnly], 'UNSPECIFIED');

// What speaks of something that is not processed, or names another issuer.
row('a critical authorityInfoAccess', [main.cert], client('critical-access', 'path-root', ['authorityInfoAccess=critical,OCSP;URI:http://a.test']), [], 'UNSPECIFIED');
const foreign = workshop.certify('foreign-issuer', { issuer: 'path-root', extensions: [...CLIENT.slice(0, 3), '2.5.29.35=DER:30:05:82:03:01:E2:40'] });
row('an authority key identifier of another issuer', [main.cert], foreign, [], 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');

// A client's own certificate in `ca`, with and without a keyUsage that allows it to sign certificates.
for (const usage of ['digitalSignature', 'digitalSignature,keyCertSign']) {
  const name = `own-${usage.length}`;
  const own = workshop.certify(name, { extensions: ['basicConstraints=CA:false', `keyUsage=${usage}`, 'extendedKeyUsage=clientAuth', 'subjectKeyIdentifier=hash'] });
  row(`a self-signed certificate for ${usage} that is trusted`, [own.cert], own, [], null);
  row(`a self-signed certificate for ${usage} that is not`, [main.cert], own, [], 'DEPTH_ZERO_SELF_SIGNED_CERT');
}

// Two certificates of one intermediate: names and revocation are judged on the path that is taken.
const narrow = limited('narrow', 'permitted;DNS:inside.test');
const revoked = authority('revoked-twin', 'path-root', { key: 'narrow', subject: 'narrow' });
const wanderer = client('wanderer', 'narrow', ['subjectAltName=DNS:elsewhere.test']);
const crl = [workshop.revocationList('narrow'), workshop.revocationList('path-root', 'revoked-twin')];
row('constrained', [main.cert], wanderer, [narrow], 'UNSPECIFIED', { crl });
row('revoked', [main.cert], wanderer, [revoked], 'CERT_REVOKED', { crl });
row('revoked, then constrained', [main.cert], wanderer, [revoked, narrow], 'CERT_REVOKED', { crl });
row('constrained, then revoked', [main.cert], wanderer, [narrow, revoked], 'UNSPECIFIED', { crl });

const said = describing((socket) => ({ authorized: socket.authorized, error: socket.authorizationError }));

for (const [name, options, identity, error] of rows) {
  test(`${name}: ${error ?? 'authorized'}`, async (t) => {
    const https = await serve(t, { ...server, ...options, requestCert: true, rejectUnauthorized: false }, said);
    // The client builds no chain of its own: its `ca` has none of these.
    const { json } = await get(https, { ca: workshop.root.cert, ...identity });
    assert.deepEqual(json, { authorized: error === null, error });
  });
}

test('the authorities that Node trusts by itself are all read', async (t) => {
  const https = await serve(t, { ...server, ca: [...tls.rootCertificates], requestCert: true, rejectUnauthorized: false }, said);
  const { json } = await get(https, { ca: workshop.root.cert, ...ofRenewed });
  assert.equal(json.error, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
});
