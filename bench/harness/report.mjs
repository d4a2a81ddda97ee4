/** The table: Markdown for bench/RESULTS.md, and a line for each cell while the run goes on. */
import { hostSection } from './host-section.mjs';
import { ratio, median, valuesOf } from './statistics.mjs';

/** Which value of a turn is compared, and how it is written. */
const MEASURES = {
  closed: { key: 'cpuUs', unit: 'µs CPU per request', write: (value) => value.toFixed(value < 10 ? 2 : 1) },
  wrk: { key: 'cpuUs', unit: 'µs CPU per request', write: (value) => value.toFixed(value < 10 ? 2 : 1) },
  open: { key: 'p99Us', unit: 'µs p99', write: (value) => value.toFixed(0) },
  memory: { key: 'bytesPerConnection', unit: 'bytes per connection', write: (value) => value.toFixed(0) },
};

export const measureOf = (cell) => MEASURES[cell.kind];
const typical = (measured, server) => median(valuesOf(measured.rounds, server, measureOf(measured.cell).key));
const relative = (measured, server, base) => ratio(measured.rounds, server, base, measureOf(measured.cell).key);

const twoDigits = (value) => (value < 0.095 ? value.toFixed(3) : value.toFixed(2));
const withQuartiles = (value) =>
  value ? `${twoDigits(value.median)} [${twoDigits(value.low)}–${twoDigits(value.high)}]` : '—';
const table = (head, rows) => {
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
};
const number = (value, write) => (Number.isNaN(value) ? '—' : write(value));
const perSecond = (value) => (value >= 100_000 ? `${Math.round(value / 1000)}k` : `${(value / 1000).toFixed(1)}k`);

/** One line on a cell that is done. */
export function cellSummary(measured, servers) {
  const base = servers.find((server) => server.id === server.base);
  const parts = servers.map((server) => {
    const value = typical(measured, server.id);
    if (Number.isNaN(value)) return null;
    const own = relative(measured, server.id, server.base ?? base.id);
    return `${server.id} ${measureOf(measured.cell).write(value)}${own ? ` (${twoDigits(own.median)})` : ''}`;
  });
  const failures = measured.failures.map(({ server, reason }) => `${server.id}: ${reason}`);
  const failed = failures.length ? `\n    not measured: ${[...new Set(failures)].join('; ')}` : '';
  return `${measured.cell.id}: ${measured.rounds.length} rounds, ${measureOf(measured.cell).unit}\n    ${parts
    .filter(Boolean)
    .join(' | ')}${failed}`;
}

/** The whole of RESULTS.md. */
export function report(cells, servers, machine) {
  const bases = servers.filter((server) => server.id === server.base);
  return [
    '# Results',
    introduction(servers, machine),
    ...bases.map((base) => targetSection(cells, servers, base)),
    ...bases.map((base) => peerSection(cells, servers, base)),
    moonshotSection(cells, servers),
    hostSection(cells, servers, table),
    '## Cell by cell',
    ...cells.map((measured) => cellSection(measured, servers, bases)),
  ].filter(Boolean).join('\n\n') + '\n';
}

function introduction(servers, machine) {
  const versions = servers.filter((server) => server.version).map((server) => `${server.title} ${server.version}`);
  return [
    'Written by `make bench`; `bench/README.md` says how it is measured. The figure is server CPU time per request, all '
      + 'processes and threads; ratios are medians of the ratios within each round, quartiles in brackets. Absolute '
      + 'figures of different runs must not be compared.',
    '',
    `- ${machine.date} UTC, ${machine.minutes} minutes, ${machine.rounds} rounds of ${machine.sliceMs} ms per server `
      + `and cell; load average before the run ${machine.load.toFixed(1)}`,
    `- ${machine.processor}, ${machine.memory}; servers on core 0, generator on core 1`,
    `- ${machine.distribution}, Linux ${machine.kernel}, TCP ${machine.congestionControl}`,
    `- Portico at ${machine.commit}; ${versions.join('; ')}`,
    ...(machine.skipped.length ? [`- **Left out, the time was up:** ${machine.skipped.join('; ')}`] : []),
  ].join('\n');
}

const verdict = (value, target) => (!value || target === undefined ? '' : value.median <= target ? 'met' : 'not met');

function targetSection(cells, servers, base) {
  const portico = servers.filter((server) => server.base === base.id && server !== base);
  if (portico.length === 0) return '';
  const inline = portico[0];
  const head = [`cell`, base.title, ...portico.map((server) => server.title), 'target', inline.title];
  const rows = cells.map((measured) => {
    const { cell } = measured;
    const write = measureOf(cell).write;
    const absolute = [base, ...portico].map((server) => number(typical(measured, server.id), write)).join(' / ');
    const ratios = portico.map((server) => withQuartiles(relative(measured, server.id, base.id)));
    const target = cell.target === undefined ? '' : `≤ ${cell.target}`;
    return [cell.title, absolute, ...ratios, target, verdict(relative(measured, inline.id, base.id), cell.target)];
  });
  head[1] = `${[base, ...portico].map((server) => server.id).join(' / ')}, absolute`;
  head.splice(-1, 1, 'inline');
  return [
    `## Against ${base.title} (${base.version})`,
    'Ratios to node:http on the same Node. Microseconds of CPU per request, p99 in microseconds, or bytes per connection.',
    table(head, rows),
  ].join('\n\n');
}

function peerSection(cells, servers, base) {
  const columns = servers.filter((server) => server !== base && (!server.base || server.base === base.id));
  const rows = cells.map((measured) => [
    measured.cell.title,
    ...columns.map((server) => {
      const value = relative(measured, server.id, base.id);
      return value ? twoDigits(value.median) : '—';
    }),
  ]);
  const head = ['cell', ...columns.map((server) => server.title)];
  return `## All servers, relative to ${base.title}\n\n${table(head, rows)}`;
}

function moonshotSection(cells, servers) {
  const rows = [];
  for (const measured of cells) {
    for (const { peer, ratio: most } of measured.cell.moonshots ?? []) {
      for (const server of servers.filter((other) => other.base && other.id !== other.base)) {
        const value = relative(measured, server.id, peer);
        if (!value) continue;
        rows.push([measured.cell.title, server.title, peer, withQuartiles(value), `≤ ${most}`, verdict(value, most)]);
      }
    }
  }
  return rows.length ? `## Moonshots\n\n${table(['cell', 'server', 'peer', 'ratio', 'at most', ''], rows)}` : '';
}

function cellSection(measured, servers, bases) {
  const { cell, rounds, wires, failures, rates } = measured;
  const measure = measureOf(cell);
  const timed = cell.kind !== 'memory';
  const head = ['server', measure.unit, ...bases.map((base) => `to ${base.title}`)];
  if (timed) head.push('requests/s', 'p50 µs', 'p99 µs', ...(cell.kind === 'open' ? ['CPU µs'] : []), 'answer');
  const rows = servers.filter((server) => valuesOf(rounds, server.id, measure.key).length > 0).map((server) => {
    const of = (key) => median(valuesOf(rounds, server.id, key));
    const row = [server.title, measure.write(of(measure.key))];
    row.push(...bases.map((base) => withQuartiles(relative(measured, server.id, base.id))));
    if (!timed) return row;
    row.push(perSecond(of('requestsPerSecond')), of('p50Us').toFixed(0), of('p99Us').toFixed(0));
    if (cell.kind === 'open') row.push(of('cpuUs').toFixed(1));
    return [...row, answerNote(server, wires[server.id], of('resumed'), cell)];
  });
  const notes = [`${rounds.length} rounds.`];
  if (rates) notes.push(`Rates: ${Object.entries(rates).map(([id, rate]) => `${id} ${rate}/s`).join(', ')}.`);
  for (const { server, reason } of failures) notes.push(`Not measured: ${server.title} (${reason}).`);
  return `### ${cell.title}\n\n${[...new Set(notes)].join(' ')}\n\n${table(head, rows)}`;
}

function answerNote(server, wire, resumed, cell) {
  const parts = [wire?.text ?? ''];
  if (server.sameBytes && wire && !wire.same) parts.unshift('**DIFFERS**');
  if (cell.tls?.mode === 'resume') parts.push(`${Math.round(resumed * 100)} % resumed`);
  return parts.filter(Boolean).join('; ').replaceAll('|', '\\|');
}
