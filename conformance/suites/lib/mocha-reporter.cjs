'use strict';
// A Mocha reporter: one line of JSON for each test, into the file named by SUITE_RESULTS.

const { appendFileSync } = require('node:fs');

module.exports = class Lines {
  constructor(runner) {
    const write = (test, outcome, error) => {
      const message = error === undefined ? undefined : String(error?.stack ?? error).slice(0, 4000);
      appendFileSync(process.env.SUITE_RESULTS, `${JSON.stringify({ name: test.titlePath().join(' > '), outcome, message })}\n`);
    };
    runner.on('pass', (test) => write(test, 'pass'));
    runner.on('pending', (test) => write(test, 'skip'));
    runner.on('fail', (test, error) => write(test, 'fail', error));
  }
};
