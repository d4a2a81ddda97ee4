// STATUS.md: the counts of a run, and why tests differ or are not for this server.

const WHYS = { fix: 'to mend', chosen: 'chosen', missing: 'not there', boringssl: "BoringSSL's own" };

/** The text of STATUS.md for a whole run. */
export function renderStatus(verdict, known) {
  const { passed, failed, skipped, listed, unlisted, byDifference, byUnimplemented } = verdict;
  const ran = passed.size + failed.size;
  const lines = [
    "# BoringSSL's TLS tests against Portico's server",
    '',
    `Written by \`run.mjs\`, not by hand. Suite: ${known.suite.repository}, revision ${known.suite.revision.slice(0, 12)}.`,
    '',
    '| | tests |',
    '|---|---|',
    `| in the suite | ${ran + skipped} |`,
    `| not for this server: clients, DTLS, QUIC, and what is unimplemented | ${skipped} |`,
    `| run | ${ran} |`,
    `| pass | ${passed.size} |`,
    `| differ as listed | ${listed} |`,
    `| fail | ${unlisted.length} |`,
    '| disabled | 0 |',
    '',
    '## Tests that differ',
    '',
    '| Tests | Number | What differs | Why |',
    '|---|---|---|---|',
  ];
  for (const [entry, count] of byDifference) {
    const names = entry.tests.map((name) => `\`${name}\``).join(', ');
    lines.push(`| ${names} | ${count} | ${entry.differs} | ${WHYS[entry.why]}: ${entry.reason} |`);
  }
  lines.push('', '## Not for this server', '', '| Asked for | Tests | Why not |', '|---|---|---|');
  for (const [entry, count] of byUnimplemented) {
    lines.push(`| ${entry.asks.map((ask) => `\`${ask}\``).join(', ')} | ${count} | ${entry.reason} |`);
  }
  if (unlisted.length > 0) {
    lines.push('', '## Fail and are not listed', '', ...unlisted.map(({ name }) => `- \`${name}\``));
  }
  return `${lines.join('\n')}\n`;
}
