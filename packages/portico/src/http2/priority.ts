/** `stream.priority`, which does nothing any more. */

import { deprecate } from 'node:util';
import { isAtLeast } from '../node/version';
import * as errors from './errors';

/** The method; newer versions of Node warn of its use. */
export function priorityMethod(): (this: { destroyed: boolean }) => void {
  const check = function priority(this: { destroyed: boolean }): void {
    if (this.destroyed) throw errors.http2Error('ERR_HTTP2_INVALID_STREAM');
  };
  return isAtLeast(24, 2)
    ? deprecate(check, 'http2Stream.priority is longer supported after priority signalling was deprecated in RFC 9113', 'DEP0194')
    : check;
}
