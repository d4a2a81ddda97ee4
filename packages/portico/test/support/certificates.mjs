// Keys and certificates for the TLS tests, made by openssl into a temporary folder at the first use in a process.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CONFIGURATION = `
[ca]
default_ca = authority
[authority]
dir = .
database = index.txt
serial = serial
crlnumber = crlnumber
new_certs_dir = .
default_md = sha256
default_crl_days = 30
policy = anything
unique_subject = no
copy_extensions = none
[anything]
commonName = supplied
organizationName = optional
[req]
distinguished_name = empty
[empty]
[root]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:false
extendedKeyUsage = serverAuth
subjectAltName = \${ENV::NAMES}
authorityInfoAccess = caIssuers;URI:http://authority.test/ca.crt
[client]
basicConstraints = CA:false
extendedKeyUsage = clientAuth
[any]
basicConstraints = CA:false
`;

const KEYS = {
  rsa: ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  p256: ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  p384: ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ed25519: ['genpkey', '-algorithm', 'ED25519'],
};

/** A folder in which openssl has made an authority, and makes certificates when asked. */
class Workshop {
  /** Key files of certificates that share one. */
  #keys = new Map();

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'portico-tls-'));
    process.on('exit', () => rmSync(this.folder, { recursive: true, force: true }));
    writeFileSync(join(this.folder, 'openssl.cnf'), CONFIGURATION);
    writeFileSync(join(this.folder, 'index.txt'), '');
    writeFileSync(join(this.folder, 'serial'), '1000\n');
    writeFileSync(join(this.folder, 'crlnumber'), '01\n');
    this.root = this.#selfSigned('root', 'Portico Test Root', 'root');
    this.other = this.#selfSigned('other', 'Another Root', 'root');
    this.intermediate = this.issue('intermediate', { issuer: 'root', extensions: 'root', subject: 'Portico Test Intermediate' });
  }

  run(args, names = 'DNS:localhost') {
    return execFileSync('openssl', args, {
      cwd: this.folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NAMES: names },
    });
  }

  read(name) {
    return readFileSync(join(this.folder, name), 'utf8');
  }

  bytes(name) {
    return readFileSync(join(this.folder, name));
  }

  path(name) {
    return join(this.folder, name);
  }

  #key(name, type) {
    this.run([...KEYS[type], '-out', `${name}.key`]);
  }

  #selfSigned(name, subject, extensions) {
    this.#key(name, 'p256');
    this.run(['req', '-x509', '-new', '-key', `${name}.key`, '-out', `${name}.crt`, '-days', '30', '-subj',
      `/CN=${subject}`, '-config', 'openssl.cnf', '-extensions', extensions]);
    return this.pair(name);
  }

  pair(name) {
    return { key: this.read(`${name}.key`), cert: this.read(`${name}.crt`) };
  }

  /** A certificate for clients that signed itself. */
  selfSignedClient(name) {
    return this.#selfSigned(name, name, 'client');
  }

  issue(name, { issuer = 'root', type = 'p256', extensions = 'server', names = 'DNS:localhost', subject = name,
    start, end } = {}) {
    this.#key(name, type);
    this.run(['req', '-new', '-key', `${name}.key`, '-out', `${name}.csr`, '-subj', `/O=Portico/CN=${subject}`,
      '-config', 'openssl.cnf'], names);
    const dates = start === undefined ? ['-days', '20'] : ['-startdate', start, '-enddate', end];
    this.run(['ca', '-batch', '-notext', '-config', 'openssl.cnf', '-in', `${name}.csr`, '-out', `${name}.crt`, '-cert',
      `${issuer}.crt`, '-keyfile', `${issuer}.key`, '-extensions', extensions, ...dates], names);
    return this.pair(name);
  }

  /**
   * A certificate whose extensions are lines of OpenSSL's configuration. `key` names a pair whose key it shares, `issuer`
   * one that signs it: its own, if it is not given.
   */
  certify(name, { key = name, issuer = name, subject = name, extensions, start, end } = {}) {
    if (key === name) this.#key(name, 'p256');
    this.run(['req', '-new', '-key', `${key}.key`, '-out', `${name}.csr`, '-subj', `/CN=${subject}`, '-config', 'openssl.cnf']);
    writeFileSync(this.path(`${name}.ext`), `[chosen]\n${extensions.join('\n')}\n`);
    const dates = start === undefined ? ['-days', '20'] : ['-startdate', start, '-enddate', end];
    const by = issuer === name ? ['-selfsign', '-keyfile', `${key}.key`] : ['-cert', `${issuer}.crt`, '-keyfile', this.#keyOf(issuer)];
    this.run(['ca', '-batch', '-notext', '-config', 'openssl.cnf', '-in', `${name}.csr`, '-out', `${name}.crt`, ...by,
      '-extfile', `${name}.ext`, '-extensions', 'chosen', ...dates]);
    this.#keys.set(name, `${key}.key`);
    return { key: this.read(`${key}.key`), cert: this.read(`${name}.crt`) };
  }

  #keyOf(name) {
    return this.#keys.get(name) ?? `${name}.key`;
  }

  revocationList(issuer, ...revoked) {
    for (const name of revoked) {
      this.run(['ca', '-config', 'openssl.cnf', '-revoke', `${name}.crt`, '-cert', `${issuer}.crt`, '-keyfile', this.#keyOf(issuer)]);
    }
    this.run(['ca', '-config', 'openssl.cnf', '-gencrl', '-cert', `${issuer}.crt`, '-keyfile', this.#keyOf(issuer), '-out',
      `${issuer}.crl`]);
    return this.read(`${issuer}.crl`);
  }

  /** The key of a pair, encrypted. */
  encryptedKey(name, passphrase, ...form) {
    this.run(['pkey', '-in', `${name}.key`, '-out', `${name}.enc`, '-aes256', '-passout', `pass:${passphrase}`, ...form]);
    return this.read(`${name}.enc`);
  }

  /** A pair as PKCS#12, with the chain's further certificates. */
  pfx(name, passphrase, chain = []) {
    const extra = chain.length === 0 ? [] : ['-certfile', `${name}.chain`];
    if (chain.length > 0) writeFileSync(this.path(`${name}.chain`), chain.join('\n'));
    this.run(['pkcs12', '-export', '-inkey', `${name}.key`, '-in', `${name}.crt`, ...extra, '-out', `${name}.pfx`,
      '-passout', `pass:${passphrase}`]);
    return this.bytes(`${name}.pfx`);
  }
}

let workshop;

/** The workshop of this process. */
export function certificates() {
  return workshop ??= new Workshop();
}
