/** Node's diagnostics channels of streams, in versions of Node that have them. */

import diagnostics = require('node:diagnostics_channel');
import { isAtLeast } from '../node/version';

const isThere = isAtLeast(24, 2) || isAtLeast(22, 17) && !isAtLeast(23, 0);

/** Undefined: this version of Node has none. */
export const channels = isThere
  ? {
    created: diagnostics.channel('http2.server.stream.created'),
    start: diagnostics.channel('http2.server.stream.start'),
    error: diagnostics.channel('http2.server.stream.error'),
    finish: diagnostics.channel('http2.server.stream.finish'),
    close: diagnostics.channel('http2.server.stream.close'),
  }
  : undefined;
