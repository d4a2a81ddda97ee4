/** Errors with Node's codes of `node:http2`, for objects of ours. */

import { inspect } from 'node:util';
import { nodeError } from '../node/error';

/** Of each code: the message, and the class if it is not `Error`. */
const MESSAGES = {
  ERR_HTTP2_INVALID_STREAM: ['The stream has been destroyed'],
  ERR_HTTP2_INVALID_SESSION: ['The session has been destroyed'],
  ERR_HTTP2_HEADERS_SENT: ['Response has already been initiated.'],
  ERR_HTTP2_HEADERS_AFTER_RESPOND: ['Cannot specify additional headers after response initiated'],
  ERR_HTTP2_TRAILERS_ALREADY_SENT: ['Trailing headers have already been sent'],
  ERR_HTTP2_TRAILERS_NOT_READY: ['Trailing headers cannot be sent until after the wantTrailers event is emitted'],
  ERR_HTTP2_STATUS_101: ['HTTP status code 101 (Switching Protocols) is forbidden in HTTP/2'],
  ERR_HTTP2_PUSH_DISABLED: ['HTTP/2 client has disabled push streams'],
  ERR_HTTP2_SEND_FILE: ['Directories cannot be sent'],
  ERR_HTTP2_SEND_FILE_NOSEEK: ['Offset or length can only be specified for regular files'],
} as const;

/** An error whose message says all. */
export function http2Error(code: keyof typeof MESSAGES): Error {
  return nodeError(code, MESSAGES[code][0]);
}

/** `ERR_HTTP2_STATUS_INVALID`. */
export function invalidStatus(status: unknown): Error {
  return nodeError('ERR_HTTP2_STATUS_INVALID', `Invalid status code: ${String(status)}`, RangeError);
}

/** `ERR_HTTP2_INVALID_INFO_STATUS`. */
export function invalidInfoStatus(status: unknown): Error {
  return nodeError('ERR_HTTP2_INVALID_INFO_STATUS', `Invalid informational status code: ${String(status)}`, RangeError);
}

/** `ERR_HTTP2_PAYLOAD_FORBIDDEN`. */
export function payloadForbidden(status: number): Error {
  return nodeError('ERR_HTTP2_PAYLOAD_FORBIDDEN', `Responses with ${status} status must not have a payload`);
}

/** `ERR_HTTP2_HEADER_SINGLE_VALUE`. */
export function singleValue(name: string): Error {
  return nodeError('ERR_HTTP2_HEADER_SINGLE_VALUE', `Header field "${name}" must only have a single value`, TypeError);
}

/** `ERR_HTTP2_INVALID_PSEUDOHEADER`. */
export function invalidPseudoField(name: string): Error {
  return nodeError('ERR_HTTP2_INVALID_PSEUDOHEADER', `"${name}" is an invalid pseudoheader or is used incorrectly`, TypeError);
}

/** `ERR_HTTP2_INVALID_CONNECTION_HEADERS`. */
export function connectionField(name: string): Error {
  return nodeError('ERR_HTTP2_INVALID_CONNECTION_HEADERS', `HTTP/1 Connection specific headers are forbidden: "${name}"`, TypeError);
}

/** `ERR_INVALID_HTTP_TOKEN`. */
export function invalidToken(name: string): Error {
  return nodeError('ERR_INVALID_HTTP_TOKEN', `Header name must be a valid HTTP token ["${name}"]`, TypeError);
}

/** `ERR_HTTP2_STREAM_ERROR`. */
export function streamError(name: string): Error {
  return nodeError('ERR_HTTP2_STREAM_ERROR', `Stream closed with error code ${name}`);
}

/** `ERR_HTTP2_SESSION_ERROR`. */
export function sessionError(code: number): Error {
  return nodeError('ERR_HTTP2_SESSION_ERROR', `Session closed with error code ${code}`);
}

/** `ERR_INVALID_ARG_TYPE`; `expected` as Node words it. */
export function invalidType(name: string, expected: string, value: unknown): Error {
  return nodeError('ERR_INVALID_ARG_TYPE', `The "${name}" argument must be ${expected}. Received ${describe(value)}`, TypeError);
}

/** `ERR_INVALID_ARG_VALUE` of a property. */
export function invalidValue(name: string, value: unknown): Error {
  const kind = name.includes('.') ? 'property' : 'argument';
  return nodeError('ERR_INVALID_ARG_VALUE', `The ${kind} '${name}' is invalid. Received ${inspect(value)}`, TypeError);
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value === 'object') return `an instance of ${(value as object).constructor?.name ?? 'Object'}`;
  return `type ${typeof value} (${inspect(value)})`;
}
