/**
 * Puts the cases of x509-limbo (BetterTLS among them) to Portico's verifier of certificates and to OpenSSL. See README.md.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { compare } from './lib/compare.mjs';
import { readCases } from './lib/cases.mjs';
import { opensslVerdicts, opensslVersion } from './lib/openssl.mjs';
import { porticoVerdicts } from './lib/portico.mjs';
import { statusPage } from './lib/status.mjs';

const HELP = `usage: node conformance/tls/limbo/run.mjs --suite DIR [options]
  --suite DIR      the folder of limbo.json
  --judge PROGRAM  the example \`judge\` of portico-x509 (target/debug/examples/judge)
  --openssl NAME   the OpenSSL to compare with (openssl)
  --filter TEXT    cases whose name has this text; STATUS.md is not written then`;

const root = join(import.meta.dirname, '../../..');
const { values } = parseArgs({
  options: {
    suite: { type: 'string' },
    judge: { type: 'string', default: join(root, 'target/debug/examples/judge') },
    openssl: { type: 'string', default: 'openssl' },
    filter: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help || !values.suite) {
  console.log(HELP);
  process.exit(values.help ? 0 : 2);
}

const cases = readCases(join(values.suite, 'limbo.json'), values.filter);
if (cases.length === 0) {
  console.error('no case has such a name');
  process.exit(2);
}
const ours = await porticoVerdicts(values.judge, cases);
const theirs = await opensslVerdicts(values.openssl, cases, (done) => {
  if (done % 1000 === 0) console.error(`${done} of ${cases.length}`);
});
const outcome = compare(cases, ours, theirs, values.filter !== undefined);
if (!values.filter) writeFileSync(join(import.meta.dirname, 'STATUS.md'), statusPage(outcome, opensslVersion(values.openssl)));
for (const fault of outcome.faults) console.log(fault);
console.log(`${cases.length} verdicts, ${outcome.faults.length} faults`);
process.exitCode = outcome.faults.length > 0 ? 1 : 0;
