import './newrelic.cjs';
