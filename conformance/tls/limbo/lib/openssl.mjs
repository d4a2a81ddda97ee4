/** OpenSSL's verdicts: `openssl verify`, with what node:https sets (purpose, security level, revocation of the whole chain). */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

/** The level that OpenSSL has by default since 3.2, and so Node since 24. */
const SECURITY_LEVEL = '2';

export function opensslVersion(program) {
  return execFileSync(program, ['version'], { encoding: 'utf8' }).replace(/ \(Library.*/, '').trim();
}

/** @returns {Promise<string[]>} for each case '0', or the number of the first error. */
export async function opensslVerdicts(program, cases, onProgress) {
  const folder = mkdtempSync(join(tmpdir(), 'limbo-'));
  const verdicts = Array(cases.length);
  let next = 0;
  let done = 0;
  const worker = async (name) => {
    while (next < cases.length) {
      const index = next++;
      verdicts[index] = await verdict(program, join(folder, name), cases[index]);
      onProgress?.(++done);
    }
  };
  try {
    await Promise.all(Array.from({ length: 2 * availableParallelism() }, (_, at) => worker(`${at}-`)));
  } finally {
    rmSync(folder, { recursive: true });
  }
  return verdicts;
}

function verdict(program, prefix, { purpose, time, anchors, chain, lists }) {
  const file = (name, pems) => {
    writeFileSync(prefix + name, pems.join('\n'));
    return prefix + name;
  };
  const args = ['verify', '-no-CApath', '-no-CAstore', '-purpose', `ssl${purpose}`, '-attime', String(time)];
  args.push('-auth_level', SECURITY_LEVEL, '-CAfile', file('anchors', anchors));
  if (chain.length > 1) args.push('-untrusted', file('others', chain.slice(1)));
  if (lists.length > 0) args.push('-crl_check', '-crl_check_all', '-CRLfile', file('lists', lists));
  args.push(file('leaf', chain.slice(0, 1)));
  return new Promise((resolve, reject) => {
    execFile(program, args, { encoding: 'utf8' }, (error, out, errors) => {
      if (!error) resolve('0');
      else if (typeof error.code === 'number') resolve(/error (\d+) at/.exec(out + errors)?.[1] ?? 'unreadable');
      else reject(error);
    });
  });
}
