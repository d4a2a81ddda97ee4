// STATUS.md from a verdict.

const WHY = {
  fix: 'to be fixed',
  internals: "tests node:http's internals",
  chosen: 'chosen',
};

/** The whole text of STATUS.md. Same input, same text: no date, so that a rerun makes no difference. */
export function renderStatus(verdict, { nodeVersion }) {
  const { counts } = verdict;
  const judged = counts.pass + counts.fail;
  return `${[
    "# Node's own HTTP tests under Portico",
    '',
    `Written by \`run.mjs\`, not by hand. Suite and binary: Node ${nodeVersion}.`,
    '',
    '| | tests |',
    '|---|---|',
    `| in the suite | ${counts.tests} |`,
    `| pass on plain Node | ${counts.plainPass} |`,
    `| skipped by themselves / fail on plain Node too | ${counts.plainSkip} / ${counts.plainFail} |`,
    `| of those that pass plain, pass under Portico | ${share(counts.pass + counts.unused, counts.plainPass)} |`,
    `| … the engine took connections | ${share(counts.pass, judged)} |`,
    `| … pass without the engine (client only, or no connection made) | ${counts.unused} |`,
    `| differ under Portico | ${counts.fail} |`,
    '',
    '## Tests that differ',
    '',
    ...table(['Test', 'What differs', 'Why'], verdict.failures.map(failureRow)),
    '',
    '## Served by node:http although Portico is loaded',
    '',
    ...table(['Test', 'Reason'], [...verdict.known.nodeServes.values()].map(({ test, reason }) => [code(test), reason])),
    '',
    '## Fail on plain Node here',
    '',
    ...(verdict.plainFailures.length === 0 ? ['None.'] : verdict.plainFailures.map((name) => `- ${code(name)}`)),
    '',
    '## Pass without the engine',
    '',
    ...verdict.unused.map((name) => `- ${code(name)}`),
  ].join('\n')}\n`;
}

function failureRow({ name, outcome, entry }) {
  if (!entry) return [code(name), `${outcome}, not examined yet`, 'not listed'];
  return [code(name), entry.differs, entry.reason ? `${WHY[entry.why]}: ${entry.reason}` : WHY[entry.why]];
}

function table(titles, rows) {
  if (rows.length === 0) return ['None.'];
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(titles), `|${'---|'.repeat(titles.length)}`, ...rows.map(line)];
}

function share(part, whole) {
  return whole === 0 ? '0' : `${part} of ${whole} (${((100 * part) / whole).toFixed(1)} %)`;
}

function code(text) {
  return `\`${text}\``;
}
