/** The part of the results about processes that share a port: the host against proxies, and what that saves. */
import { median, ratio, valuesOf } from './statistics.mjs';

/** An example bill: so many machines behind a reverse proxy, and what they cost in a year. */
const MACHINES = 1250;
const YEARLY_DOLLARS = 6_912_000;

/** @returns {string} Markdown, or nothing if no such cell was measured */
export function hostSection(cells, servers, table) {
  const measured = cells.filter(({ cell }) => cell.hosts);
  const hosts = servers.filter((server) => server.id.startsWith('host'));
  const rows = hosts.flatMap((host) => measured.flatMap((result) => rowsOf(result, host, servers)));
  if (rows.length === 0) return '';
  const bills = hosts.map((host) => bill(measured[0], host)).filter(Boolean);
  return [
    '## Two processes on one port',
    'Two Node processes with a URL prefix each, requests spread evenly over both; CPU of all server processes together.',
    table(['cell', 'host', 'compared with', 'ratio or difference', 'target', ''], rows),
    ...bills,
  ].join('\n\n');
}

function rowsOf({ cell, rounds }, host, servers) {
  const node = host.base.slice('node'.length);
  const rows = [];
  const add = (other, text, target, met) => {
    const verdict = met === undefined ? '' : met ? 'met' : 'not met';
    rows.push([cell.title, host.title, other, text, target ?? '', verdict]);
  };
  const key = cell.kind === 'open' ? 'p99Us' : 'cpuUs';
  const what = cell.kind === 'open' ? 'p99' : 'CPU';
  const peers = cell.hosts.peers ?? [];
  const direct = ratio(rounds, host.id, host.base, key);
  if (direct) {
    const { target } = cell.hosts;
    add(`node:http ${node}, served directly`, `${what} ${text(direct)}`, target && `≤ ${target}`,
      target && direct.median <= target);
  }
  for (const peer of servers.filter((server) => server.node === node && !server.base)) {
    const value = ratio(rounds, host.id, peer.id, key);
    const wanted = peers.find((entry) => peer.id.startsWith(entry.peer))?.ratio;
    if (value) add(peer.title, `${what} ${text(value)}`, wanted && `≤ ${wanted}`, wanted && value.median <= wanted);
  }
  const embedded = `portico${node}`;
  if (cell.kind === 'closed') {
    const alone = cell.connections === 1;
    const [field, most] = alone ? ['p50Us', 15] : ['cpuUs', 1.5];
    const values = rounds.map((round) => round[host.id]?.[field] - round[embedded]?.[field]).filter(Number.isFinite);
    const added = median(values);
    if (values.length > 0) {
      add('Portico embedded', `${alone ? 'p50' : 'CPU'} ${added >= 0 ? '+' : '−'}${Math.abs(added).toFixed(2)} µs`,
        `≤ +${most} µs`, added <= most);
    }
  }
  return rows;
}

const text = ({ median: middle, low, high }) => `${digits(middle)} [${digits(low)}–${digits(high)}]`;
const digits = (value) => (value < 0.095 ? value.toFixed(3) : value.toFixed(2));

/** The example bill with the ratio measured here, against nginx before the same Node processes. */
function bill(measured, host) {
  const node = host.base.slice('node'.length);
  const value = measured && ratio(measured.rounds, host.id, `nginx+node${node}`, 'cpuUs');
  if (!value || valuesOf(measured.rounds, host.id, 'cpuUs').length === 0) return undefined;
  const machines = Math.ceil(MACHINES * value.median);
  const saved = YEARLY_DOLLARS - (machines * YEARLY_DOLLARS) / MACHINES;
  return `An example bill, Node ${node}: ${MACHINES.toLocaleString('en')} machines behind nginx become `
    + `${machines.toLocaleString('en')} (× ${digits(value.median)}), which saves $${Math.round(saved).toLocaleString('en')} `
    + `of $${YEARLY_DOLLARS.toLocaleString('en')} a year.`;
}
