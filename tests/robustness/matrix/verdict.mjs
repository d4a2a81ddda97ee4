// Compares what rows came to on a drive with what they come to on node:http of the same version.
//
// node:http itself does not always do the same: where a connection is ended while the client still sends, the order of
// packets decides. So a row that differs is run again, at last alone on both sides, and what node:http did once is
// allowed. A hang or an answer that node:http never gives is a fault if it comes while the row is alone; all else, and
// what a reset took, must differ every time. What differs otherwise, in company or at times, is told apart, as flaky.
//
// Nothing is a fault that does not come again when the row is run more often; and what does not come every time is none
// if node:http does it with the same bytes in other packets.

import { chosenFor } from './chosen-differences.mjs';
import { runAlone } from './oracle.mjs';
import { CAPACITY, runRows } from './running.mjs';

/** How often a row that differs is run on each side, alone. */
const ALONE = 5;
/** And how often once more before it is called a fault. */
const CONFIRMING = 10;
/** So many rows of a batch don't differ by chance: none of them is run once more. */
const MANY = 40;

/**
 * Runs `rows` on node:http and on the drives of `judges`, all at a time, and has them judge what differs. Rows that are run
 * alone are so on their own drive.
 */
export async function judgeRows(rows, judges, oracle) {
  const company = { capacity: Math.ceil(CAPACITY / (judges.length + 1)) };
  await Promise.all([oracle.begin(rows, company), ...judges.map((judge) => judge.run(rows, company))]);
  await oracle.runTogether(suspectsOf(rows, judges));
  const suspects = suspectsOf(rows, judges);
  await Promise.all([oracle.runAlone(suspects, ALONE), ...judges.map((judge) => judge.runAlone(suspects))]);
  await Promise.all(judges.map((judge) => judge.classify(rows)));
  for (const judge of judges) await judge.confirm();
}

const suspectsOf = (rows, judges) => rows.filter((row) => judges.some((judge) => judge.suspects(row)));

/** Judges the rows of one drive; asks `oracle`, which may be another's too. */
export class Judge {
  #drive;
  #oracle;
  /** What each row came to: in company, and alone. */
  #seen = new Map();
  /** `{ row, field }`; without a field, a row that hangs as node:http does, but not the newest one. */
  #doubted = [];
  failures = [];
  flaky = [];
  /** Reason -> the differences that it explains. */
  chosen = new Map();

  constructor(drive, oracle) {
    this.#drive = drive;
    this.#oracle = oracle;
  }

  /** Runs rows for the first time. */
  async run(rows, options) {
    const { outcomes, strays } = await runRows(rows, this.#drive, options);
    this.#seen = new Map(rows.map(({ name }) => [name, { company: outcomes.get(name), alone: [] }]));
    this.failures.push(...strays.map((stack) => ({ row: 'none', drive: this.#drive.name, field: 'exception', portico: stack, node: 'none', times: '' })));
  }

  /** Whether a row did anything that node:http has not been seen to do. */
  suspects(row) {
    const known = this.#oracle.known(row);
    return this.#seen.get(row.name).company.some((outcome) => differences(outcome, known).length > 0);
  }

  /** Runs those of `rows` again, alone, that this drive's judge suspects. */
  async runAlone(rows) {
    const suspects = rows.filter((row) => this.suspects(row));
    for (const [name, observed] of await runAlone(suspects, this.#drive, ALONE)) this.#seen.get(name).alone.push(...observed);
  }

  /** Tells apart what differs of rows that have been run: chosen, flaky, or to be confirmed. */
  async classify(rows) {
    await Promise.all(rows.map(async (row) => {
      const known = this.#oracle.known(row);
      const { company, alone } = this.#seen.get(row.name);
      const fields = new Set([...company, ...alone].flatMap((outcome) => differences(outcome, known)));
      await Promise.all([...fields].map((field) => this.#classify(row, field)));
      if (!fields.has('end')) await this.#compareHang(row);
    }));
  }

  /** Runs once more what is left of differences, while no other drive is run; what stays is a failure. */
  async confirm() {
    const doubted = this.#doubted.splice(0);
    const rows = [...new Set(doubted.map(({ row }) => row))];
    const again = rows.length > MANY ? new Map() : await runAlone(rows, this.#drive, CONFIRMING);
    if (again.size > 0) await this.#oracle.runAlone(rows, CONFIRMING);
    for (const [name, observed] of again) this.#seen.get(name).alone.push(...observed);
    for (const { row, field } of doubted) {
      if (field === undefined) await this.#confirmHang(row, again.get(row.name));
      else await this.#confirm(row, field, again.get(row.name));
    }
  }

  async #classify(row, field) {
    const compared = this.#compare(row, field, this.#oracle.known(row));
    if (compared === undefined) return;
    const { difference, isSteady, isHard, timesAlone } = compared;
    if (timesAlone === 0 || !isHard && !isSteady) this.flaky.push(difference);
    else if (!(await this.#isChosen(row, compared))) this.#doubted.push({ row, field });
  }

  async #isChosen(row, { difference, outcome }) {
    const reason = await chosenFor({ ...difference, outcome, outcomes: this.#oracle.known(row) }, row, this.#oracle);
    if (reason !== undefined) this.chosen.set(reason, [...(this.chosen.get(reason) ?? []), difference]);
    return reason !== undefined;
  }

  async #confirm(row, field, again = this.#seen.get(row.name).alone) {
    const known = this.#oracle.known(row);
    const compared = this.#compare(row, field, known);
    if (compared === undefined) return;
    const recurs = compared.isHard && again.some((outcome) => isWrong(outcome, field, known));
    const isFault = compared.isSteady || recurs && differs(compared.wrong, field, await this.#oracle.joinedOrParted(row));
    if (!isFault) this.flaky.push(compared.difference);
    else if (!(await this.#isChosen(row, compared))) this.failures.push(compared.difference);
  }

  /** How a field of a row differs from all that is `known` of node:http; undefined if it does not. */
  #compare(row, field, known) {
    const { company, alone } = this.#seen.get(row.name);
    const wrong = [...company, ...alone].filter((outcome) => isWrong(outcome, field, known));
    if (wrong.length === 0) return undefined;
    const timesAlone = alone.filter((outcome) => wrong.includes(outcome)).length;
    const isHard = field.startsWith('answer') && wrong.some(({ end }) => end !== 'reset') || field === 'end' && wrong.some(({ end }) => end === 'hangs');
    const difference = {
      row: row.name, drive: this.#drive.name, field, portico: wrong.at(-1)[field], node: [...new Set(known.map((other) => other[field]))].join('  or  '),
      times: `${timesAlone} of ${alone.length} times alone`,
    };
    return { difference, wrong, outcome: wrong.at(-1), isHard, isSteady: timesAlone === alone.length, timesAlone };
  }

  /** A row that hangs as on this version's node:http must hang on the newest one's too. */
  async #compareHang(row) {
    const { company, alone } = this.#seen.get(row.name);
    if (!this.#oracle.hasNewest || ![...company, ...alone].some(hangs) || !this.#oracle.known(row).some(hangs)) return;
    if (!(await this.#oracle.onNewest(row)).some(hangs)) this.#doubted.push({ row });
  }

  async #confirmHang(row, again = this.#seen.get(row.name).company) {
    const newest = await this.#oracle.onNewest(row);
    const isFault = again.every(hangs) || again.some(hangs) && !(await this.#oracle.joinedOrParted(row, { newest: true })).some(hangs);
    (isFault ? this.failures : this.flaky).push({
      row: row.name, drive: this.#drive.name, field: 'end', portico: 'hangs', node: `hangs, but ${newest[0].end} on the newest Node`,
      times: `${again.filter(hangs).length} of ${again.length} times alone`,
    });
  }
}

const hangs = ({ end }) => end === 'hangs';

const differs = (outcomes, field, known) => outcomes.some((outcome) => !known.some((other) => other[field] === outcome[field]));

function isWrong(outcome, field, known) {
  if (!differs([outcome], field, known)) return false;
  // A head is the head of an answer: where that is another one, so is its head.
  const answer = field.replace('head', 'answer');
  return answer === field || known.some((other) => other[answer] === outcome[answer]);
}

/** The fields in which `outcome` is like none of `known`. */
function differences(outcome, known) {
  return Object.keys(outcome).filter((field) => differs([outcome], field, known));
}
