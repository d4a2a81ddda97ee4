// STATUS.md of a suite from a verdict.

const WHY = { fix: 'to be fixed', internals: "tests node:http's internals", chosen: 'chosen' };

/** The whole text. Same results, same text: no date, and no number that varies between two runs. */
export function renderStatus(verdict, { suite, version, nodeVersion }) {
  const { counts } = verdict;
  return `${[
    `# The tests of ${suite.name} ${version} under Portico`,
    '',
    `Written by \`run.mjs\`, not by hand. Node ${nodeVersion}.`,
    '',
    '| | tests |',
    '|---|---|',
    `| in the suite, in ${counts.files} files | ${counts.tests} |`,
    `| pass on plain Node | ${counts.plainPass} |`,
    `| skipped by themselves / fail on plain Node too | ${counts.plainSkip} / ${counts.plainFail} |`,
    `| of those that pass plain, pass under Portico | ${counts.pass} of ${counts.plainPass} (${percent(counts.pass, counts.plainPass)}) |`,
    `| … in files in which the engine took connections | ${counts.engine} |`,
    `| differ under Portico | ${counts.fail} |`,
    '',
    '## Tests that differ',
    '',
    ...table(['Test', 'What differs', 'Why'], verdict.failures.map(failureRow)),
    '',
    '## Served by node:http although Portico is loaded',
    '',
    ...table(['File', 'Reason'], [...verdict.known.nodeServes.values()].map(({ file, reason }) => [code(file), reason])),
    '',
    '## Fail on plain Node here',
    '',
    ...(verdict.plainFailures.length === 0 ? ['None.'] : verdict.plainFailures.map((id) => `- ${code(id)}`)),
  ].join('\n')}\n`;
}

function failureRow({ id, outcome, entry }) {
  if (!entry) return [code(id), `${outcome}, not examined yet`, 'not listed'];
  return [code(id), entry.differs, entry.reason ? `${WHY[entry.why]}: ${entry.reason}` : WHY[entry.why]];
}

function table(titles, rows) {
  if (rows.length === 0) return ['None.'];
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(titles), `|${'---|'.repeat(titles.length)}`, ...rows.map(line)];
}

function percent(part, whole) {
  return whole === 0 ? 'none' : `${((100 * part) / whole).toFixed(2)} %`;
}

function code(text) {
  return `\`${text}\``;
}
