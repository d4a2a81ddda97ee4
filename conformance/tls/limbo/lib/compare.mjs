/** What the verdicts say, held against `known-differences.json`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, '../known-differences.json');

const COUNTS = { verdicts: 0, accepted: 0, refused: 0, onlyPortico: 0, onlyOpenssl: 0, unexpected: 0, unexpectedOpenssl: 0 };

/**
 * @param {boolean} partial not the whole suite ran, so what is listed and did not run is no fault
 * @returns {{ faults: string[], groups: Map<string, typeof COUNTS>, differences: object[] }}
 */
export function compare(cases, ours, theirs, partial) {
  const { differences } = JSON.parse(readFileSync(FILE, 'utf8'));
  const listed = new Map(differences.map((entry) => [key(entry), entry]));
  const groups = new Map();
  const faults = [];
  const found = [];
  for (const [index, test] of cases.entries()) {
    const counts = countsOf(groups, test);
    const [accepts, opensslAccepts] = [ours[index] === '0', theirs[index] === '0'];
    counts.verdicts++;
    count(counts, test, accepts, opensslAccepts);
    const name = key(test);
    if (accepts && !opensslAccepts) {
      faults.push(`accepted, and OpenSSL refuses it (error ${theirs[index]}): ${name}`);
    } else if (!accepts && opensslAccepts) {
      const entry = listed.get(name);
      if (!entry) faults.push(`refused (error ${ours[index]}), and OpenSSL accepts it: ${name}`);
      else found.push({ ...entry, error: ours[index], expects: test.expects });
      listed.delete(name);
    }
  }
  if (!partial) for (const name of listed.keys()) faults.push(`listed, but there is no difference: ${name}`);
  return { faults, groups, differences: found };
}

function count(counts, test, accepts, opensslAccepts) {
  if (accepts && opensslAccepts) counts.accepted++;
  else if (!accepts && !opensslAccepts) counts.refused++;
  else if (accepts) counts.onlyPortico++;
  else counts.onlyOpenssl++;
  // The suite has expectations for the purpose that it wrote the case for.
  if (test.purpose !== test.kind) return;
  if (accepts !== test.expects) counts.unexpected++;
  if (opensslAccepts !== test.expects) counts.unexpectedOpenssl++;
}

function countsOf(groups, { id }) {
  const parts = id.split('::');
  const group = parts[0] === 'bettertls' ? parts.slice(0, 2).join('::') : parts[0];
  if (!groups.has(group)) groups.set(group, { ...COUNTS });
  return groups.get(group);
}

function key({ id, purpose }) {
  return `${id} for ${purpose}s`;
}
