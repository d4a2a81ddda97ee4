/**
 * `portico/register`: `node --import portico/register app.js`, `--require`, or the program's first import.
 * Replaces the server side of `node:http` and `node:https`, and with `PORTICO_HTTP2=1` that of `node:http2`. Threads and cluster workers inherit the command line's
 * preloads, so they are served as well.
 */

import { AddOnError } from './native/load';
import { slipstream } from './slipstream';

try {
  slipstream();
} catch (error) {
  if (!(error instanceof AddOnError)) throw error;
  // PORTICO_REQUIRE=1 asks for this. Where in Portico it was found helps nobody.
  process.stderr.write(`Portico can't be used, and PORTICO_REQUIRE=1 asks for it: ${error.message}. ${error.advice} [${error.code}]\n`);
  process.exit(1);
}

export {};
