/**
 * Where the program of a host is found. Where its control socket is, the add-on knows (crates/portico-locate).
 */

import { delimiter, join } from 'node:path';
import { builtPrograms } from '../native/platform';

/** Files that may be the program, the likeliest first. */
export function programs(): string[] {
  const chosen = process.env['PORTICO_PROGRAM'];
  if (chosen) return [chosen];
  return [
    ...builtPrograms(),
    ...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, 'portico')),
  ];
}
