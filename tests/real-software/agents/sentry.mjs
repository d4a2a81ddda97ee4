import './sentry.cjs';
