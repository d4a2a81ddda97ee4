/** The cases of `limbo.json`, as both verifiers take them. */
import { readFileSync } from 'node:fs';

/** What certificates of a case are verified for. Almost every case is about servers; a verifier of clients walks the same paths. */
export const PURPOSES = ['client', 'server'];

/** @returns {{ id: string, purpose: string, expects: boolean, time: number, anchors: string[], chain: string[], lists: string[] }[]} PEM, leaf first. */
export function readCases(file, filter) {
  const cases = [];
  for (const test of JSON.parse(readFileSync(file, 'utf8')).testcases) {
    if (filter && !test.id.includes(filter)) continue;
    for (const purpose of PURPOSES) {
      cases.push({
        id: test.id,
        purpose,
        kind: test.validation_kind === 'CLIENT' ? 'client' : 'server',
        expects: test.expected_result === 'SUCCESS',
        time: Math.floor((test.validation_time ? Date.parse(test.validation_time) : Date.now()) / 1000),
        anchors: test.trusted_certs,
        chain: [test.peer_certificate, ...test.untrusted_intermediates],
        lists: test.crls ?? [],
      });
    }
  }
  return cases;
}

/** The bytes of the first block of a PEM text. */
export function der(pem) {
  return Buffer.from(pem.replaceAll(/-----[^\n]*-----/g, ''), 'base64');
}
