'use strict';
// Preloaded into the applications under test: SIGTERM ends them through process.exit, so that 'exit'
// listeners run (the counters are written there). An application's own SIGTERM handler goes first.

process.on('SIGTERM', () => {
  if (process.listenerCount('SIGTERM') === 1) process.exit(0);
});
