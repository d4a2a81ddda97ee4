/**
 * Where a host is found: its control socket, and its program.
 */

import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { prefixError } from './errors';

/** Control socket of the host that serves the whole machine. */
const SYSTEM_SOCKET = '/run/portico/host.sock';

/** Control sockets to try, in order. The last one is where a host of one's own is started. */
export function controlSockets(): string[] {
  const chosen = process.env['PORTICO_HOST'];
  if (chosen) return [chosen];
  return [...(existsSync(SYSTEM_SOCKET) ? [SYSTEM_SOCKET] : []), ownSocket()];
}

/** The control socket of this user's own host. Its folder is made, and is nobody else's. */
function ownSocket(): string {
  const runtime = process.env['XDG_RUNTIME_DIR'];
  const folder = runtime ? join(runtime, 'portico') : join(tmpdir(), `portico-${uid()}`);
  return join(folder, 'host.sock');
}

/** Makes the folder of a control socket. In a folder that others may write, somebody could stand in for the host. */
export function prepareFolder(socket: string): void {
  const folder = dirname(socket);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid: owner, mode } = lstatSync(folder);
  const isOurs = owner === uid() || owner === 0;
  if (isOurs && (mode & 0o022) === 0) return;
  throw prefixError('ERR_PORTICO_HOST_FOLDER',
    `${folder} belongs to somebody else or can be written by others, so no host is started there. `
    + 'Remove it, or name another control socket with PORTICO_HOST.');
}

/** Files that may be the program, the likeliest first. */
export function programs(): string[] {
  const chosen = process.env['PORTICO_PROGRAM'];
  if (chosen) return [chosen];
  const root = join(__dirname, '..', '..');
  return [
    join(root, 'native', 'portico'),
    join(root, '..', '..', 'target', 'release', 'portico'),
    ...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, 'portico')),
  ];
}

function uid(): number {
  return process.getuid?.() ?? 0;
}
