/**
 * PEM files, as far as OpenSSL's options need them: certificates and revocation lists, one or many in a file.
 */

/** What Node takes for a certificate, key or list: PEM as text or bytes. */
export type PemInput = string | NodeJS.ArrayBufferView;

/** The text of an option's value. */
export function pemText(input: PemInput): string {
  return typeof input === 'string' ? input : pemBytes(input).toString('latin1');
}

/** The bytes of an option's value, without a copy where it has some. */
export function pemBytes(input: PemInput): Buffer {
  if (typeof input === 'string') return Buffer.from(input);
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength);
}

const CERTIFICATE_LABELS = new Set(['CERTIFICATE', 'X509 CERTIFICATE', 'TRUSTED CERTIFICATE']);

/** DER of each certificate in a PEM file, in its order. A file without any is empty, as for OpenSSL's `ca`. */
export function pemCertificates(input: PemInput): Buffer[] {
  return blocks(pemText(input)).filter(({ label }) => CERTIFICATE_LABELS.has(label))
    .map(({ label, der }) => (label === 'TRUSTED CERTIFICATE' ? firstElement(der) : der));
}

/** DER of each certificate revocation list in a PEM file. */
export function pemRevocationLists(input: PemInput): Buffer[] {
  return blocks(pemText(input)).filter(({ label }) => label === 'X509 CRL').map(({ der }) => der);
}

interface Block {
  label: string;
  der: Buffer;
}

function blocks(text: string): Block[] {
  const found: Block[] = [];
  const pattern = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    found.push({ label: match[1], der: Buffer.from(match[2], 'base64') });
  }
  return found;
}

/** OpenSSL's trusted certificates carry settings after the certificate: what remains is the first DER element. */
function firstElement(der: Buffer): Buffer {
  if (der.length < 4) return der;
  const lengthBytes = der[1] < 0x80 ? 0 : der[1] & 0x7f;
  const length = lengthBytes === 0 ? der[1] : der.readUIntBE(2, lengthBytes);
  return der.subarray(0, 2 + lengthBytes + length);
}
