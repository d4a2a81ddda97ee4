/**
 * What a process host tells the processes of a worker, by environment variables.
 *
 * Children inherit them: `npm start`, tsx and cluster's workers are started by the process that the host started, and the
 * server is in one of those. A child that is given another environment is no part of the worker.
 */

/** The worker that this process belongs to. */
export interface WorkerEnvironment {
  /** The host's name for it, which registrations repeat. */
  id: string;
  /** URL prefixes by port: a number, `0` for "any", `*` for all others. */
  prefixes: ReadonlyMap<string, readonly string[]>;
}

let read: { environment: WorkerEnvironment | undefined } | undefined;

/**
 * The worker of this process, read once; undefined where no host has started it.
 *
 * @throws Error if a variable can't be understood
 */
export function workerEnvironment(): WorkerEnvironment | undefined {
  read ??= { environment: readEnvironment(process.env) };
  return read.environment;
}

/** Reads the variables of an environment. */
export function readEnvironment(variables: NodeJS.ProcessEnv): WorkerEnvironment | undefined {
  const id = variables['PORTICO_WORKER'];
  if (id === undefined || id === '') return undefined;
  return { id, prefixes: readPrefixes(variables['PORTICO_LISTEN']) };
}

function readPrefixes(text = ''): ReadonlyMap<string, readonly string[]> {
  if (text === '') return new Map();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isListen(value)) {
    throw new Error(`PORTICO_LISTEN can't be understood: ${text}. The host sets it to an object of lists of URL prefixes, by port; a program need not set it.`);
  }
  return new Map(Object.entries(value));
}

function isListen(value: unknown): value is Record<string, string[]> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    && Object.values(value).every((list) => Array.isArray(list) && list.every((prefix) => typeof prefix === 'string'));
}
