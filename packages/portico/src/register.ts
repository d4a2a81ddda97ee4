/**
 * `portico/register`: `node --import portico/register app.js`, `--require`, or the program's first import.
 * Replaces the server side of `node:http` and `node:https`. Threads and cluster workers inherit the command line's
 * preloads, so they are served as well.
 */

import { slipstream } from './index';

slipstream();

export {};
