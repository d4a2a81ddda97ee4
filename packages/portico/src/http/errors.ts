/** Errors with Node's codes, for the few places where no method of Node's own makes them. */

import { format } from 'node:util';
import { nodeError } from '../node/error';

/** `ERR_HTTP_HEADERS_SENT`. `action` is what was tried: set, write, ... */
export function headersSent(action: string): Error {
  return nodeError('ERR_HTTP_HEADERS_SENT', `Cannot ${action} headers after they are sent to the client`);
}

/** `ERR_STREAM_WRITE_AFTER_END`. */
export function writeAfterEnd(): Error {
  return nodeError('ERR_STREAM_WRITE_AFTER_END', 'write after end');
}

/** `ERR_STREAM_DESTROYED`. `action` is the method that was called. */
export function streamDestroyed(action: string): Error {
  return nodeError('ERR_STREAM_DESTROYED', `Cannot call ${action} after a stream was destroyed`);
}

/** `ERR_STREAM_ALREADY_FINISHED`. `action` is the method that was called. */
export function alreadyFinished(action: string): Error {
  return nodeError('ERR_STREAM_ALREADY_FINISHED', `Cannot call ${action} after a stream was finished`);
}

/** `ERR_HTTP_BODY_NOT_ALLOWED`: see `rejectNonStandardBodyWrites`. */
export function bodyNotAllowed(): Error {
  return nodeError('ERR_HTTP_BODY_NOT_ALLOWED', 'Adding content for this request method or response status is not allowed.');
}

/** `ERR_HTTP_CONTENT_LENGTH_MISMATCH`; both in bytes. See `strictContentLength`. */
export function contentLengthMismatch(actual: number, declared: number): Error {
  return nodeError('ERR_HTTP_CONTENT_LENGTH_MISMATCH',
    `Response body's content-length of ${actual} byte(s) does not match the content-length of ${declared} byte(s) set in header`);
}

/** `ERR_HTTP_INVALID_STATUS_CODE`. */
export function invalidStatusCode(status: unknown): Error {
  return nodeError('ERR_HTTP_INVALID_STATUS_CODE', format('Invalid status code: %s', status), RangeError);
}

/** `ERR_INVALID_CHAR` in what, and in which field. */
export function invalidCharacter(what: string, field?: string): Error {
  const where = field === undefined ? '' : ` ["${field}"]`;
  return nodeError('ERR_INVALID_CHAR', `Invalid character in ${what}${where}`, TypeError);
}

/** `ERR_INVALID_ARG_VALUE` of `writeEarlyHints`, for a link with control characters. */
export function brokenLink(link: unknown): Error {
  return nodeError('ERR_INVALID_ARG_VALUE', format(
    'The argument \'hints\' must be an array or string of format "</styles.css>; rel=preload; as=style". Received %o', link), TypeError);
}

/** `ERR_UNKNOWN_ENCODING`. */
export function unknownEncoding(encoding: string): Error {
  return nodeError('ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`, TypeError);
}

/** `ERR_HTTP_TRAILER_INVALID`: a Trailer field needs a chunked body (RFC 9110, section 6.5.1). */
export function trailerInvalid(): Error {
  return nodeError('ERR_HTTP_TRAILER_INVALID', 'Trailers are invalid with this transfer encoding');
}

/** `ERR_HTTP_SOCKET_ASSIGNED`. */
export function socketAssigned(): Error {
  return nodeError('ERR_HTTP_SOCKET_ASSIGNED', 'ServerResponse has an already assigned socket');
}

/** `ERR_HTTP_REQUEST_TIMEOUT`. */
export function requestTimeout(): Error {
  return nodeError('ERR_HTTP_REQUEST_TIMEOUT', 'Request timeout');
}

/** What a request and a queued response are destroyed with when their connection goes. */
export function connectionReset(): Error {
  const error = new Error('aborted') as NodeJS.ErrnoException;
  error.code = 'ECONNRESET';
  return error;
}
