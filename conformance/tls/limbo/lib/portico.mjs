/** Portico's verdicts: `cargo run -p portico-x509 --example judge`. */
import { spawn } from 'node:child_process';

import { der } from './cases.mjs';

const list = (pems) => pems.map((pem) => der(pem).toString('hex')).join(',') || '-';

/** @returns {Promise<string[]>} for each case OpenSSL's number of the verdict ('0': accepted), or a text. */
export function porticoVerdicts(program, cases) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('latin1').on('data', (piece) => (text += piece));
    child.on('error', reject);
    child.on('close', (status) => {
      const verdicts = text.trimEnd().split('\n');
      if (status !== 0 || verdicts.length !== cases.length) {
        reject(new Error(`${program}: status ${status}, ${verdicts.length} verdicts on ${cases.length} cases`));
      } else resolve(verdicts);
    });
    child.stdin.on('error', () => {}); // told by 'close'
    write(child.stdin, cases);
  });
}

async function write(stream, cases) {
  for (const { purpose, time, anchors, chain, lists } of cases) {
    const line = `${purpose} ${time} whole ${list(anchors)} ${list(chain)} ${list(lists)}\n`;
    if (!stream.write(line)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
}
