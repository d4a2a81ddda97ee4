/**
 * Asks a host for a prefix, and starts a host where there is none.
 */

import { basename } from 'node:path';
import { FINGERPRINT, LAYOUT_VERSION } from '../generated/layout';
import type { HostConnection } from '../native/binding';
import { loadBinding, VERSION } from '../native/load';
import { prefixError } from './errors';
import { startHost } from './start-host';

/** Version of the control protocol. */
export const PROTOCOL = 2;
/** Milliseconds that a host may take to start. */
const START_MS = 15_000;
/** Milliseconds between two attempts to reach one that starts. */
const RETRY_MS = 20;

/** What a host grants. */
export interface Grant {
  /** The prefix in its canonical form. */
  prefix: string;
  /** Where the host listens. */
  address: { address: string; family: string; port: number };
  connection: HostConnection;
}

/** What a server of a worker tells the host of the place that its program asked for. */
export interface WorkerPlace {
  /** The host's name for the worker. */
  id: string;
  port: number;
  /** The IP address; absent: all. */
  address?: string;
  /** Other processes of the worker may have the same place: they are workers of a cluster. */
  shared: boolean;
}

/**
 * Registers a prefix. If no host is running and the place is this user's own, one is started; where `PORTICO_HOST` names
 * another place, that is for whoever runs that host, with its configuration.
 *
 * @param worker given by processes that a process host has started
 * @throws an error with the host's code, or `ERR_PORTICO_NO_HOST`
 */
export async function registerPrefix(prefix: string, worker?: WorkerPlace): Promise<Grant> {
  const connection = await ask(prefix, worker);
  return connection.mayBeStarted && worker === undefined ? startAndAsk(connection.socket, prefix) : granted(connection, prefix);
}

async function startAndAsk(socket: string, prefix: string): Promise<Grant> {
  const deadline = Date.now() + START_MS;
  const host = startHost(socket);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    const connection = await ask(prefix);
    if (!connection.mayBeStarted) return granted(connection, prefix);
    if (host.failure !== undefined) throw host.failure;
    if (Date.now() > deadline) {
      throw prefixError('ERR_PORTICO_NO_HOST', `The host that was started on ${socket} does not answer: ${connection.failure}. `
        + `Run \`portico host --socket ${socket}\` to see why.`, prefix);
    }
  }
}

function ask(prefix: string, worker?: WorkerPlace): Promise<HostConnection> {
  return loadBinding().connectHost(JSON.stringify({
    type: 'register', protocol: PROTOCOL, layout: LAYOUT_VERSION, records: FINGERPRINT, prefix, process: thisProcess(), worker,
  }));
}

/** What a host shows of this process. */
export function thisProcess(): object {
  return {
    pid: process.pid, program: basename(process.argv[1] ?? 'node'), node: process.versions.node, package: VERSION,
  };
}

function granted(connection: HostConnection, prefix: string): Grant {
  try {
    return grantOf(connection, prefix);
  } catch (error) {
    // The host keeps its end of the control connection open as long as ours is.
    connection.discard();
    throw error;
  }
}

function grantOf(connection: HostConnection, prefix: string): Grant {
  if (connection.answer === '') throw prefixError(connection.failureCode, `Listening on ${prefix} failed: ${failureOf(connection)}.`, prefix);
  const answer = JSON.parse(connection.answer) as {
    type?: string; code?: string; message?: string; prefix?: string; address?: Grant['address'];
  };
  if (answer.type !== 'registered' || !connection.hasEngine) {
    throw prefixError(answer.code ?? 'ERR_PORTICO_HOST', answer.message ?? `The host refused ${prefix}.`, prefix);
  }
  return {
    prefix: answer.prefix ?? prefix,
    address: answer.address ?? { address: '::', family: 'IPv6', port: 0 },
    connection,
  };
}

/** What was wrong, and where no host may be started by an application, who is to start it. */
function failureOf({ failure, failureCode, socket }: HostConnection): string {
  if (failureCode !== 'ERR_PORTICO_NO_HOST') return failure;
  return `${failure}. No application starts a host at a place that PORTICO_HOST names: run \`portico host --socket ${socket}\`, or unset PORTICO_HOST`;
}
