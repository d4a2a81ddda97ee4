/** Command line of the benchmark. */
import { parseArgs } from 'node:util';

const HELP = `bash bench/run.sh [options]
  --quick            fewer rounds, shorter slices, the main cells only: 4 minutes instead of 25
  --rounds N         rounds in each cell (12; quick: 3)
  --slice MS         length of one server's turn in a round (300; quick: 150)
  --cells A,B        only these cells (--list tells their names)
  --servers A,B      only these servers; node:http is always there, the ratios need it
  --node PATH        Node binary to measure; may be given several times (default: this one, and Node 26 from npm)
  --out FILE         write the table there too. Without it, only a full run writes bench/RESULTS.md
  --json FILE        write all values of all rounds
  --budget MIN       cells still to come get fewer rounds when the run would take longer than this (25; quick: 4)
  --no-install       (run.sh) use what is there
  --list             names of cells and servers`;

/** @returns parsed options; ends the process after --help. */
export function readOptions(argv = process.argv.slice(2)) {
  const { values } = parseArgs({
    args: argv,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      slice: { type: 'string' },
      cells: { type: 'string' },
      servers: { type: 'string' },
      node: { type: 'string', multiple: true },
      out: { type: 'string' },
      json: { type: 'string' },
      budget: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const { quick } = values;
  return {
    quick,
    list: values.list,
    rounds: positive(values.rounds, quick ? 3 : 12, '--rounds'),
    sliceMs: positive(values.slice, quick ? 150 : 300, '--slice'),
    warmUpMs: quick ? 300 : 1000,
    cells: values.cells?.split(','),
    servers: values.servers?.split(','),
    nodes: values.node,
    out: values.out,
    json: values.json,
    budgetMs: positive(values.budget, quick ? 4 : 25, '--budget') * 60_000,
    /** A table of everything: the only one that may replace RESULTS.md without being told to. */
    full: !quick && !values.cells && !values.servers && !values.node,
  };
}

function positive(text, fallback, name) {
  if (text === undefined) return fallback;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`${name} needs a whole number from 1`);
  return number;
}
