// Compares what rows came to on a drive with what they come to on node:http of the same version.
//
// node:http itself does not always do the same: where a connection is ended while the client still sends, the order of
// packets decides. So a row that differs is run again, at last alone on both sides, and what node:http did once is
// allowed. A hang or an answer that node:http never gives is a fault if it comes once while the row is alone; all else, and
// what a reset took, must differ every time. What differs otherwise, in company or at times, is told apart, as flaky.

import { chosenFor } from './chosen-differences.mjs';
import { runRows } from './running.mjs';

/** How often a row that differs is run again on node:http beside others. */
const TOGETHER = 3;
/** How often on each side, alone. A row that hangs there takes long, and is not run so often. */
const ALONE = 5;
const ALONE_HANGING = 2;

/** Judges the rows of one drive; asks node:http of the same version, and the newest one's, where it must. */
export class Judge {
  #drive;
  #stock;
  #newest;
  #asked = new Map();
  failures = [];
  flaky = [];
  /** Reason -> the differences that it explains. */
  chosen = new Map();

  /** `newest` starts node:http of the newest Node, which is asked only about rows that hang; undefined: `stock` is one. */
  constructor({ drive, stock, newest }) {
    this.#drive = drive;
    this.#stock = stock;
    this.#newest = newest;
  }

  /** Runs `rows`. `known` is what node:http made of them, lists of outcomes by name, and learns what else it does. */
  async judge(rows, known) {
    const { outcomes, strays } = await runRows(rows, this.#drive);
    let suspects = rows.filter(({ name }) => isSuspect(outcomes.get(name), known.get(name)));
    for (let round = 0; suspects.length > 0 && round < TOGETHER; round++) {
      const again = await runRows(suspects, this.#stock);
      for (const { name } of suspects) known.get(name).push(again.outcomes.get(name));
      suspects = suspects.filter(({ name }) => isSuspect(outcomes.get(name), known.get(name)));
    }
    await this.#follow(suspects, outcomes, known);
    this.failures.push(...strays.map((stack) => ({ row: 'none', drive: this.#drive.name, field: 'exception', portico: stack, node: '', times: '' })));
  }

  /** Runs rows that differ alone, on both sides at a time. */
  async #follow(rows, outcomes, known) {
    const seen = new Map(rows.map(({ name }) => [name, [outcomes.get(name)]]));
    const unknown = rows.filter(({ name }) => known.get(name).length <= ALONE);
    await Promise.all([repeatAlone(rows, this.#drive, seen), repeatAlone(unknown, this.#stock, known)]);
    for (const row of rows) {
      const [portico, node] = [seen.get(row.name), known.get(row.name)];
      const fields = new Set(portico.flatMap((outcome) => differences(outcome, node)));
      for (const field of fields) await this.#classify(row, field, portico, node);
      if (!fields.has('end')) await this.#compareHang(row, portico, node);
    }
  }

  async #classify(row, field, portico, node) {
    const isWrong = (outcome) => !node.some((other) => other[field] === outcome[field]);
    // A head is the head of an answer: where that is another one, so is its head.
    const answer = field.replace('head', 'answer');
    const wrong = portico.filter((outcome) => isWrong(outcome) && (answer === field || node.some((other) => other[answer] === outcome[answer])));
    if (wrong.length === 0) return;
    const alone = portico.slice(1).filter((outcome) => wrong.includes(outcome)).length;
    const difference = {
      row: row.name, drive: this.#drive.name, field, portico: wrong.at(-1)[field], node: [...new Set(node.map((other) => other[field]))].join('  or  '),
      times: `${alone} of ${portico.length - 1} times alone`,
    };
    const isHard = field.startsWith('answer') && wrong.some(({ end }) => end !== 'reset') || field === 'end' && wrong.some(({ end }) => end === 'hangs');
    if (alone === 0 || !isHard && alone < portico.length - 1) return void this.flaky.push(difference);
    const reason = await chosenFor({ ...difference, outcome: wrong.at(-1), outcomes: node }, row, this);
    if (reason === undefined) this.failures.push(difference);
    else this.chosen.set(reason, [...(this.chosen.get(reason) ?? []), difference]);
  }

  /** A row that hangs as on this version's node:http must hang on the newest one's too. */
  async #compareHang(row, portico, node) {
    if (this.#newest === undefined || !portico.some(({ end }) => end === 'hangs') || !node.some(({ end }) => end === 'hangs')) return;
    const newest = await this.onNewest(row);
    if (newest.some(({ end }) => end === 'hangs')) return;
    this.failures.push({ row: row.name, drive: this.#drive.name, field: 'end', portico: 'hangs', node: `hangs, but ${newest[0].end} on the newest Node`, times: '' });
  }

  /** What node:http of the same version makes of another row, twice. */
  onStock(row) {
    return this.#ask(row, 'stock', this.#stock);
  }

  /** What node:http of the newest Node makes of a row, twice. */
  async onNewest(row) {
    if (this.#newest === undefined) return this.onStock(row);
    return this.#ask(row, 'newest', await this.#newest());
  }

  async #ask(row, who, drive) {
    const key = `${who} ${row.name}`;
    if (!this.#asked.has(key)) {
      const observed = [];
      for (let round = 0; round < 2 && observed.at(-1)?.end !== 'hangs'; round++) observed.push((await runRows([row], drive)).outcomes.get(row.name));
      this.#asked.set(key, observed);
    }
    return this.#asked.get(key);
  }
}

async function repeatAlone(rows, drive, into) {
  const hanging = new Map();
  for (let round = 0; round < ALONE; round++) {
    const open = rows.filter(({ name }) => (hanging.get(name) ?? 0) < ALONE_HANGING);
    const { outcomes } = await runRows(open, drive, 1);
    for (const { name } of open) {
      into.get(name).push(outcomes.get(name));
      if (outcomes.get(name).end === 'hangs') hanging.set(name, (hanging.get(name) ?? 0) + 1);
    }
  }
}

function isSuspect(outcome, known) {
  return outcome.end === 'hangs' || differences(outcome, known).length > 0;
}

/** The fields in which `outcome` is like none of `known`. */
function differences(outcome, known) {
  return Object.keys(outcome).filter((field) => !known.some((other) => other[field] === outcome[field]));
}
