/**
 * Decides whether the engine can be used, and says so once if it can't.
 *
 * Where it can't, `node:http` and `node:https` stay as they are. `PORTICO_DISABLE=1` asks for that, silently;
 * `PORTICO_REQUIRE=1` turns it into an error.
 */

import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { loadBinding, type AddOnError } from './native/load';
import { speaksHttp2 } from './native/http2-setting';
import { threadCount } from './native/thread-count';

/** Whether the engine is in use, and if not, why. */
export interface Status {
  /** True if servers run on the engine. */
  active: boolean;
  /** Why not, as a clause; undefined if they do. */
  reason?: string;
}

/** Key, known to all threads, under which the notice that has been given is remembered. */
const TOLD = 'portico.fallback-told';

let decided: Status | undefined;

/**
 * Whether the engine can be used here. The first call loads the add-on and, if that fails, emits the process warning
 * `PORTICO_FALLBACK`, one for all threads and copies of the package that come later.
 *
 * @throws AddOnError if it can't be used and `PORTICO_REQUIRE=1` is set
 * @throws Http2SettingError if `PORTICO_HTTP2` can't be understood, likewise
 * @throws ThreadCountError if `PORTICO_THREADS` can't be understood: at the start, not where a server listens
 */
export function decide(): Status {
  decided ??= attempt();
  return decided;
}

function attempt(): Status {
  if (isSet('PORTICO_DISABLE')) return { active: false, reason: 'PORTICO_DISABLE is set' };
  threadCount();
  speaksHttp2();
  try {
    loadBinding();
    return { active: true };
  } catch (error) {
    if (isSet('PORTICO_REQUIRE')) throw error;
    return fallBack(error as AddOnError);
  }
}

function fallBack(error: AddOnError): Status {
  if (getEnvironmentData(TOLD) !== true) {
    setEnvironmentData(TOLD, true);
    process.emitWarning(`Portico is not in use, and node:http serves instead: ${error.message}.`, {
      type: 'PorticoWarning',
      code: 'PORTICO_FALLBACK',
      detail: `${error.advice} Set PORTICO_DISABLE=1 to silence this, or PORTICO_REQUIRE=1 to make it an error.`,
    });
  }
  return { active: false, reason: error.message };
}

function isSet(name: string): boolean {
  const value = process.env[name];
  return value !== undefined && value !== '' && value !== '0';
}
