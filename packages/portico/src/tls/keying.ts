/**
 * What an application may ask about a handshake that is over: Finished messages, shared signature algorithms, and keying
 * material by RFC 5705 (TLS 1.2) and RFC 8446, 7.5 (TLS 1.3), computed when it is asked for.
 */

import { createHash, createHmac } from 'node:crypto';
import type { SecureInfo } from '../lane/tls-provider';
import { suiteById } from './cipher-suites';
import { TLS13 } from './versions';

type Hash = 'sha256' | 'sha384';

/** Bytes of each side's random in TLS 1.2. */
const RANDOM_BYTES = 32;
const NOTHING = Buffer.alloc(0);

/** The verify data of the server's Finished message. */
export function finishedMessage({ keying, finishedLength }: SecureInfo): Buffer {
  return Buffer.from(keying.subarray(0, finishedLength));
}

/** The verify data of the client's Finished message. */
export function peerFinishedMessage({ keying, finishedLength }: SecureInfo): Buffer {
  return Buffer.from(keying.subarray(finishedLength, finishedLength * 2));
}

/**
 * Keying material for an application, the same at both ends.
 *
 * @param length bytes wanted
 * @param context undefined: none, which in TLS 1.2 is something else than an empty one
 * @throws RangeError if the protocol can't export so much, or takes no context of that length
 */
export function exportKeyingMaterial(secure: SecureInfo, length: number, label: string, context: Uint8Array | undefined): Buffer {
  const hash: Hash = suiteById(secure.cipherSuite)?.name.endsWith('SHA384') ? 'sha384' : 'sha256';
  const start = secure.finishedLength * 2;
  const secret = secure.keying.subarray(start, start + secure.secretLength);
  if (secure.protocol === TLS13) return export13(hash, secret, length, label, context ?? NOTHING);
  const randoms = secure.keying.subarray(start + secure.secretLength, start + secure.secretLength + RANDOM_BYTES * 2);
  return export12(hash, secret, randoms, length, label, context);
}

/** RFC 8446, 7.5. */
function export13(hash: Hash, secret: Buffer, length: number, label: string, context: Uint8Array): Buffer {
  const digest = (bytes: Uint8Array): Buffer => createHash(hash).update(bytes).digest();
  const size = secret.length;
  if (length > 255 * size) throw new RangeError(`The keying material can have at most ${255 * size} bytes`);
  const derived = expandLabel(hash, secret, label, digest(NOTHING), size);
  return expandLabel(hash, derived, 'exporter', digest(context), length);
}

/** RFC 8446, 7.1, over RFC 5869, 2.3. */
function expandLabel(hash: Hash, secret: Buffer, label: string, context: Buffer, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  if (name.length > 255) throw new RangeError('The label is too long');
  const info = Buffer.concat([Buffer.from([length >>> 8, length & 255, name.length]), name, Buffer.from([context.length]), context]);
  const blocks: Buffer[] = [];
  let last = NOTHING;
  for (let done = 0; done < length; done += last.length) {
    last = createHmac(hash, secret).update(last).update(info).update(Buffer.from([blocks.length + 1])).digest();
    blocks.push(last);
  }
  return Buffer.concat(blocks, length);
}

/** RFC 5705, 4, over the PRF of RFC 5246, 5. */
function export12(hash: Hash, secret: Buffer, randoms: Buffer, length: number, label: string,
  context: Uint8Array | undefined): Buffer {
  const seed = [Buffer.from(label), randoms];
  if (context !== undefined) {
    if (context.length > 0xffff) throw new RangeError('The context is longer than 65,535 bytes');
    seed.push(Buffer.from([context.length >>> 8, context.length & 255]), Buffer.from(context));
  }
  const whole = Buffer.concat(seed);
  const blocks: Buffer[] = [];
  let round: Buffer = whole;
  for (let done = 0; done < length; done += blocks[0].length) {
    round = createHmac(hash, secret).update(round).digest();
    blocks.push(createHmac(hash, secret).update(round).update(whole).digest());
  }
  return Buffer.concat(blocks, length);
}

/** Schemes by IANA number under the names that Node gives, in OpenSSL's order of preference. */
const SCHEMES: ReadonlyMap<number, string> = new Map([
  [0x0403, 'ECDSA+SHA256'], [0x0503, 'ECDSA+SHA384'], [0x0603, 'ECDSA+SHA512'], [0x0807, 'Ed25519+UNDEF'],
  [0x0804, 'RSA-PSS+SHA256'], [0x0805, 'RSA-PSS+SHA384'], [0x0806, 'RSA-PSS+SHA512'],
  [0x0401, 'RSA+SHA256'], [0x0501, 'RSA+SHA384'], [0x0601, 'RSA+SHA512'],
]);

/** What a server allows, and whose order counts. */
export interface SignatureSettings {
  /** IANA numbers in order; empty: all. */
  readonly allowed: readonly number[];
  readonly honorCipherOrder: boolean;
}

/** The signature algorithms that both sides have, in the order that counts. */
export function sharedSignatureAlgorithms(secure: SecureInfo, { allowed, honorCipherOrder }: SignatureSettings): string[] {
  const randoms = secure.protocol === TLS13 ? 0 : RANDOM_BYTES * 2;
  const list = secure.keying.subarray(secure.finishedLength * 2 + secure.secretLength + randoms);
  const offered = Array.from({ length: list.length >>> 1 }, (_, index) => list.readUInt16BE(index * 2));
  const ours = allowed.length === 0 ? [...SCHEMES.keys()] : allowed;
  const [first, second] = honorCipherOrder ? [ours, offered] : [offered, ours];
  return first.filter((scheme) => second.includes(scheme)).flatMap((scheme) => SCHEMES.get(scheme) ?? []);
}
