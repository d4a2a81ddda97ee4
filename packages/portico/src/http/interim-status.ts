/** Responses behind a host whose status is that of an interim answer: the host answers 502 in their place. */

import process = require('node:process');
import type { Exchange } from './exchange';

let isTold = false;

/** Says once for the process which response that was, and what to do. */
export function warnOfInterim({ method, request }: Exchange, status: number): void {
  if (isTold) return;
  isTold = true;
  process.emitWarning(`The response to ${method} ${String((request as unknown as { url: unknown }).url)} has the status ${status}, `
    + 'and the host answers 502: behind an interim answer its client would wait for another one.', {
    type: 'PorticoWarning', code: 'PORTICO_INTERIM_STATUS',
    detail: 'Send interim answers with writeContinue, writeProcessing or writeEarlyHints and give the response a status of 200 or more. '
      + 'Listen to \'upgrade\' to switch protocols. This warning is given once.',
  });
}
