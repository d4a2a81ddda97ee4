'use strict';
// New Relic's agent. It would begin to measure once its collector has answered; here it is told so.

Object.assign(process.env, {
  NEW_RELIC_NO_CONFIG_FILE: 'true', NEW_RELIC_APP_NAME: 'portico', NEW_RELIC_LICENSE_KEY: '0'.repeat(40),
  NEW_RELIC_HOST: '127.0.0.1', NEW_RELIC_LOG_ENABLED: 'false',
});
const { agent } = require('newrelic');
const saw = require('./saw.cjs');

agent.setState('started');
agent.on('transactionFinished', ({ verb, name, statusCode }) => {
  // WebTransaction/Expressjs/GET//hello/:name
  const route = /^WebTransaction\/Expressjs\/[A-Z]+\/(\/.*)$/.exec(name)?.[1];
  saw(verb, route, statusCode);
});
