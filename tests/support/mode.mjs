// Which HTTP stack the tests run on. PORTICO_TEST_PLAIN=1 runs the same assertions on node:http, as
// the proof that they assert what Node does and not what we happen to do.

/** True if the applications under test run on Node's own HTTP stack. */
export const plain = process.env.PORTICO_TEST_PLAIN === '1';

/** Arguments for `process.execPath` that put Portico under a program, or none. */
export const preload = plain ? [] : ['--import', 'portico/register'];

/** The same by `--require`. */
export const preloadByRequire = plain ? [] : ['--require', 'portico/register'];

/** The folder from which `portico/register` resolves. */
export const testsFolder = new URL('..', import.meta.url).pathname;

/**
 * The environment for a program under test. `countersFile` receives one line of JSON from each
 * process as it exits; PORTICO_REQUIRE turns a fall back to node:http into an error.
 */
export function environment(countersFile, extra = {}) {
  const env = { ...process.env, ...extra };
  delete env.NODE_OPTIONS;
  delete env.NODE_TEST_CONTEXT; // node:test sets it; a child that inherits it changes its output
  if (!plain) Object.assign(env, { PORTICO_REQUIRE: '1', PORTICO_COUNTERS_FILE: countersFile });
  return env;
}
