'use strict';
// A key and a self-signed certificate for localhost, made for this process.

const { execFileSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const folder = mkdtempSync(join(tmpdir(), 'portico-certificate-'));
const keyFile = join(folder, 'key.pem');
const certFile = join(folder, 'cert.pem');
execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile, '-out', certFile,
  '-subj', '/CN=localhost', '-days', '2'], { stdio: 'ignore' });
const key = readFileSync(keyFile);
const cert = readFileSync(certFile);
rmSync(folder, { recursive: true, force: true });

module.exports = { key, cert };
