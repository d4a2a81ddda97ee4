/** `writeEarlyHints` of Node versions that write the fields of an interim answer down without a look. */

import { validateHeaderName, validateHeaderValue } from 'node:http';
import { brokenLink } from './errors';
import type { Response } from './server-response';
import { stockResponse } from './stock';

type Hints = Record<string, unknown> & { link?: unknown };
type Stock = Record<string, (this: unknown, ...args: unknown[]) => unknown>;

const stock = stockResponse as Stock;
// eslint-disable-next-line no-control-regex
const INVALID = /[^\t\x20-\x7e\x80-\xff]/;

/** Whether Node checks the fields itself, as it does since it has `writeInformation`. */
export const checksEarlyHints = typeof stock.writeInformation === 'function';

/** With the newest Node's checks: no value may end its line and begin another. */
export function writeEarlyHints(this: Response, hints: unknown, callback?: unknown): unknown {
  if (typeof hints === 'object' && hints !== null && !isNothing((hints as Hints).link)) check(hints as Hints);
  return stock.writeEarlyHints.call(this, hints, callback);
}

/** Without a link nothing is written. */
function isNothing(link: unknown): boolean {
  return link === undefined || link === null || (link as { length?: number }).length === 0;
}

function check({ link, ...others }: Hints): void {
  const links = Array.isArray(link) ? link as unknown[] : [link];
  const broken = links.find((each) => typeof each === 'string' && INVALID.test(each));
  if (broken !== undefined) throw brokenLink(broken);
  for (const [name, value] of Object.entries(others)) {
    validateHeaderName(name);
    validateHeaderValue(name, value as string);
  }
}
