// What node:http makes of rows, of the same version and of the newest one. It is asked once, whichever drive's judge asks.

import { runRows } from './running.mjs';
import { otherArrivals } from './rows.mjs';

/** How often a row is run on the same version beside others once a drive differs. */
const TOGETHER = 3;
/** How often another row, or the newest Node, is asked. */
const ASKED = 4;

/** node:http, as rows need it. `newest` starts the newest Node's drive; undefined: `stock` is one. */
export class Oracle {
  #stock;
  #newest;
  #known = new Map();
  #asked = new Map();

  constructor({ stock, newest }) {
    this.#stock = stock;
    this.#newest = newest;
  }

  /** True if the newest Node is another one than that of the drives. */
  get hasNewest() {
    return this.#newest !== undefined;
  }

  /** Runs a batch of rows for the first time, and forgets the batch before. */
  async begin(rows, options) {
    this.#known = new Map();
    this.#learn(await runRows(rows, this.#stock, options));
  }

  /** Runs rows again, beside each other. */
  async runTogether(rows) {
    if (rows.length > 0) this.#learn(await runRows(rows, this.#stock, { times: TOGETHER }));
  }

  /** Runs rows again, each alone. */
  async runAlone(rows, times) {
    this.#learn({ outcomes: await runAlone(rows, this.#stock, times) });
  }

  /** All that node:http of the same version has been seen to make of a row of this batch. */
  known(row) {
    return this.#known.get(row.name);
  }

  /** What node:http of the same version makes of another row. */
  onStock(row) {
    return this.#ask(row, 'stock', () => this.#stock);
  }

  /** What node:http of the newest Node makes of a row. */
  onNewest(row) {
    return this.#newest === undefined ? this.onStock(row) : this.#ask(row, 'newest', this.#newest);
  }

  /** What a row comes to if the network joins or parts what its client sends: as the same rows that arrive otherwise. */
  async joinedOrParted(row, { newest = false } = {}) {
    const rows = otherArrivals(row);
    return (await Promise.all(rows.map((other) => (newest ? this.onNewest(other) : this.onStock(other))))).flat();
  }

  #ask(row, who, start) {
    const key = `${who} ${row.name}`;
    if (!this.#asked.has(key)) this.#asked.set(key, ask(row, start));
    return this.#asked.get(key);
  }

  #learn({ outcomes }) {
    for (const [name, observed] of outcomes) this.#known.set(name, [...(this.#known.get(name) ?? []), ...observed]);
  }
}

async function ask(row, start) {
  const { outcomes } = await runRows([row], await start(), { times: ASKED });
  return outcomes.get(row.name);
}

/** Runs rows `times` times, each alone; a row that hangs twice takes long, and is not run again. */
export async function runAlone(rows, drive, times) {
  if (rows.length === 0) return new Map();
  const { outcomes } = await runRows(rows, drive, { capacity: 1, times: Math.min(2, times) });
  const open = rows.filter(({ name }) => !outcomes.get(name).every(({ end }) => end === 'hangs'));
  if (open.length === 0 || times <= 2) return outcomes;
  const further = await runRows(open, drive, { capacity: 1, times: times - 2 });
  for (const [name, observed] of further.outcomes) outcomes.get(name).push(...observed);
  return outcomes;
}
