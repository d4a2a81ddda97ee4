'use strict';
// Elastic's agent; what it would send is printed.

const apm = require('elastic-apm-node').start({
  serverUrl: 'http://127.0.0.1:9', centralConfig: false, cloudProvider: 'none', logLevel: 'off', metricsInterval: 0,
});
const saw = require('./saw.cjs');

apm.addTransactionFilter(({ name, result, outcome, context }) => {
  const [method, ...route] = name.split(' ');
  // Result and outcome are what a patch of `emit` alone finds out.
  if (result !== `HTTP ${String(context.response.status_code)[0]}xx` || !outcome) saw(method, `no result: ${name}`, result);
  else saw(method, route.join(' ').replace('unknown route', ''), context.response.status_code);
  return undefined;
});
