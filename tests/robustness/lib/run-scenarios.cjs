'use strict';
// Runs in a child: `node [--import portico/register] run-scenarios.cjs FILE`. Runs each scenario of
// the file one after the other and prints the logs as one line of JSON: { name: { actor: [line] } }.

const { resolve } = require('node:path');
const tools = require('./scenario-tools.cjs');

/** No scenario takes longer, on however busy a machine. */
const SCENARIO_LIMIT_MS = 20_000;
/** What comes after a scenario's end is logged for so long. */
const SETTLE_MS = 100;

async function main() {
  const scenarios = require(resolve(process.argv[2]));
  const only = process.argv[3];
  const results = {};
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (only !== undefined && name !== only) continue;
    const { log, lists } = tools.makeLog();
    log('outcome', await outcomeOf(scenario, log));
    results[name] = lists;
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit(0));
}

/** Runs one scenario to its end, its limit, or the first exception that is not caught. */
async function outcomeOf(scenario, log) {
  let timer;
  let onUncaught;
  const cut = new Promise((resolve) => {
    timer = setTimeout(resolve, SCENARIO_LIMIT_MS, 'time is up');
    onUncaught = (error) => resolve(`uncaught ${error?.name} ${error?.code ?? error?.message}`);
    process.on('uncaughtException', onUncaught);
  });
  const outcome = await Promise.race([scenario(log).then(() => 'done', (error) => `rejected ${error.stack}`), cut]);
  clearTimeout(timer);
  process.off('uncaughtException', onUncaught);
  return outcome;
}

main();
