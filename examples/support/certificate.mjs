// A certificate for localhost, made with openssl at the first start and kept until it is about to expire.

import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const VALID_DAYS = 365;
const RENEW_BEFORE_MS = 7 * 24 * 3600 * 1000;

/**
 * Key and certificate in PEM, from a folder; made if they are not there yet.
 *
 * @param {string} folder where they are kept
 * @returns {{ key: string, cert: string, made: boolean }} `made` is true if they are new
 */
export function localhostCertificate(folder) {
  const keyFile = join(folder, 'localhost.key');
  const certFile = join(folder, 'localhost.crt');
  const made = !(existsSync(keyFile) && existsSync(certFile) && isFresh(readFileSync(certFile)));
  if (made) make(folder, keyFile, certFile);
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8'), made };
}

function isFresh(pem) {
  return new Date(new X509Certificate(pem).validTo).getTime() > Date.now() + RENEW_BEFORE_MS;
}

function make(folder, keyFile, certFile) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    execFileSync('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', String(VALID_DAYS),
      '-keyout', keyFile, '-out', certFile, '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:0:0:0:0:0:0:0:1',
    ], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const reason = error.code === 'ENOENT' ? 'the program `openssl` is not installed' : String(error.stderr ?? error.message).trim();
    throw new Error(`The certificate for https://localhost could not be made: ${reason}`);
  }
}
