// The rows: one value of each dimension. A row's name is its values in order, joined by slashes, and names it for ever.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { behaviours } = createRequire(import.meta.url)('./behaviours/index.cjs');

/** The dimensions, in the order in which a row's name has them. */
export const DIMENSIONS = {
  behaviour: [...behaviours.keys()],
  // Around the limits of a stream (16 KiB before Node 22, 64 KiB since), of a read (64 KiB) and of the sockets' buffers.
  size: [0, 1, 100, 16_383, 16_384, 65_535, 65_536, 70_000, 140_000, 200_000, 300_000, 1_000_000, 1_500_000],
  // at-once: head and body in one write. behind: the body after the head. split: half of the body with the head.
  // slow: many pieces; short bodies byte for byte. half-close: at once, and then the client ends its side. stalled: half of
  // the body with the head, and a rest longer than keepAliveTimeout. cut: half of the body, and the client ends its side.
  // reset: half of the body, and the client resets the connection.
  arrival: ['at-once', 'behind', 'split', 'slow', 'half-close', 'stalled', 'cut', 'reset'],
  // next: another request when this one is answered. pipelined: another one right behind the body. pipelined-upload: the
  // same, with a body of 70,000 bytes that is echoed. idle: none; the server ends the connection (keepAliveTimeout is
  // 400 ms).
  connection: ['next', 'pipelined', 'pipelined-upload', 'idle'],
  // expect: the body waits for 100 (Continue). expect-listener: the same, and the server has a 'checkContinue' listener.
  // trailers: chunked, with trailer fields. http10: an HTTP/1.0 request; http10-kept: one that asks for keep-alive.
  framing: ['length', 'chunked', 'expect', 'expect-listener', 'trailers', 'http10', 'http10-kept'],
  // slow: the client rests 10 ms after each read of a long answer. late: it begins to read after more than keepAliveTimeout.
  reader: ['fast', 'slow', 'late'],
  // watched: the server listens to the events of req and res.
  watching: ['watched', 'unwatched'],
};

const NAMES = Object.keys(DIMENSIONS);

/** A row from its name; throws if it names none. */
export function parseRow(name) {
  const words = name.split('/');
  const row = Object.fromEntries(NAMES.map((dimension, index) => {
    const value = DIMENSIONS[dimension].find((known) => String(known) === words[index]);
    if (value === undefined) throw new Error(`no ${dimension} ${words[index]} in ${name}`);
    return [dimension, value];
  }));
  return named(row);
}

/** True if the row asks something that no other row asks. */
function isOwn(row) {
  const { behaviour, connection, framing, reader } = row;
  const { long, queued, server } = behaviours.get(behaviour);
  if (reader !== 'fast' && !long && behaviour !== 'queued-big') return false;
  if (reader === 'late' && connection.startsWith('pipelined')) return false;
  if (queued && (!connection.startsWith('pipelined') || framing.startsWith('expect'))) return false;
  if ((connection === 'idle' || server !== undefined) && framing === 'expect-listener') return false;
  if (server !== undefined && connection === 'idle') return false;
  if (framing.startsWith('http10') && connection.startsWith('pipelined')) return false;
  return arrivesSo(row);
}

/** Whether the body can arrive as the row says. */
function arrivesSo({ behaviour, size, arrival, connection, framing, reader }) {
  const { queued } = behaviours.get(behaviour);
  const rare = framing === 'trailers' || framing.startsWith('http10');
  if (arrival === 'behind') return !queued;
  if (arrival === 'half-close') return connection !== 'idle' && !framing.startsWith('expect');
  if (arrival === 'stalled') return size > 1 && reader === 'fast' && !rare && !framing.startsWith('expect') && !connection.startsWith('pipelined');
  if (arrival === 'cut' || arrival === 'reset') return size > 1 && reader === 'fast' && connection === 'next' && !queued && !framing.startsWith('expect');
  return !rare || arrival !== 'slow';
}

function named(row) {
  return { ...row, ...pick(behaviours.get(row.behaviour)), name: NAMES.map((dimension) => row[dimension]).join('/') };
}

const pick = ({ method, long, queued, fields, server }) => ({ method, long, queued, fields, server });

/** Every row; watching alternates instead of doubling them. */
export function* allRows() {
  const { watching, ...others } = DIMENSIONS;
  let number = 0;
  for (const row of product(Object.entries(others))) {
    if (isOwn(row)) yield named({ ...row, watching: watching[number++ % 2] });
  }
}

function* product([[dimension, values], ...rest]) {
  for (const value of values) {
    if (rest.length === 0) yield { [dimension]: value };
    else for (const other of product(rest)) yield { [dimension]: value, ...other };
  }
}

/** The rows whose clients send the same bytes as that of `row`, at once or in other parts. */
export function otherArrivals(row) {
  const joined = ['at-once', 'behind', 'split'];
  if (![...joined, 'slow', 'stalled'].includes(row.arrival)) return [];
  return joined.map((arrival) => named({ ...row, arrival })).filter((other) => other.name !== row.name && isOwn(other));
}

/** One row for each behaviour, always the same ones. */
export function spreadRows() {
  return readFileSync(new URL('spread.txt', import.meta.url), 'utf8').trim().split('\n').map(parseRow);
}

/** Which of `parts` parts the row of this name belongs to: each has something of everything (FNV-1a). */
export function partOf(name, parts) {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  return (hash >>> 0) % parts;
}

/** Rows in which every two values that fit together meet at least once; the same ones for the same seed. */
export function sampleRows(seed) {
  const random = randomFrom(seed);
  const open = openPairs();
  const rows = new Map();
  for (const pair of shuffled([...open.keys()], random)) {
    if (!open.has(pair)) continue;
    let best;
    for (let attempt = 0; attempt < 24; attempt++) {
      const row = complete(open.get(pair), random);
      const gain = row === undefined ? -1 : pairsOf(row).filter((other) => open.has(other)).length;
      if (gain > (best?.gain ?? -1)) best = { row, gain };
    }
    open.delete(pair);
    if (best === undefined) continue; // the two values exclude each other
    for (const other of pairsOf(best.row)) open.delete(other);
    const row = named(best.row);
    rows.set(row.name, row);
  }
  return [...rows.values()];
}

function openPairs() {
  const open = new Map();
  for (const [index, first] of NAMES.entries()) {
    for (const second of NAMES.slice(index + 1)) {
      for (const a of DIMENSIONS[first]) {
        for (const b of DIMENSIONS[second]) open.set(`${first}=${a} ${second}=${b}`, { [first]: a, [second]: b });
      }
    }
  }
  return open;
}

function pairsOf(row) {
  return NAMES.flatMap((first, index) => NAMES.slice(index + 1).map((second) => `${first}=${row[first]} ${second}=${row[second]}`));
}

function complete(part, random) {
  const row = Object.fromEntries(NAMES.map((dimension) => {
    const values = DIMENSIONS[dimension];
    return [dimension, part[dimension] ?? values[Math.floor(random() * values.length)]];
  }));
  return isOwn(row) ? row : undefined;
}

function shuffled(list, random) {
  for (let index = list.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other], list[index]];
  }
  return list;
}

/** Numbers from 0 to 1 that a seed determines (a multiplicative congruential generator). */
function randomFrom(seed) {
  let state = (seed % 2_147_483_646) + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state - 1) / 2_147_483_646;
  };
}
