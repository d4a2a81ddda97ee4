/** The version of Node that runs. */

import process = require('node:process');

const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);

/** Whether Node is of this version or a later one. */
export function isAtLeast(major: number, minor: number): boolean {
  return ownMajor > major || ownMajor === major && ownMinor >= minor;
}
