/** Errors with Node's codes of `node:http2`, for objects of ours. */

import { inspect } from 'node:util';
import { nodeError } from '../node/error';
import { nghttpError } from './stock';

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
  ERR_HTTP2_NESTED_PUSH: ['A push stream cannot initiate another push stream.'],
  ERR_HTTP2_OUT_OF_STREAMS: ['No stream ID is available because maximum stream ID has been reached'],
  ERR_HTTP2_NO_SOCKET_MANIPULATION: ['HTTP/2 sockets should not be directly manipulated (e.g. read and written)'],
  ERR_HTTP2_SOCKET_UNBOUND: ['The socket has been disconnected from the Http2Session'],
  ERR_HTTP2_PING_CANCEL: ['HTTP2 ping cancelled'],
  ERR_HTTP2_PING_LENGTH: ['HTTP2 ping payload must be 8 bytes', RangeError],
  ERR_HTTP2_MAX_PENDING_SETTINGS_ACK: ['Maximum number of pending settings acknowledgements'],
  ERR_HTTP2_ALTSVC_INVALID_ORIGIN: ['HTTP/2 ALTSVC frames require a valid origin', TypeError],
  ERR_HTTP2_ALTSVC_LENGTH: ['HTTP/2 ALTSVC frames are limited to 16382 bytes', TypeError],
  ERR_HTTP2_INVALID_ORIGIN: ['HTTP/2 ORIGIN frames require a valid origin', TypeError],
  ERR_HTTP2_ORIGIN_LENGTH: ['HTTP/2 ORIGIN frames are limited to 16382 bytes', TypeError],
} as const;

/** An error whose message says all. */
export function http2Error(code: keyof typeof MESSAGES): Error {
  const [message, Class = Error]: readonly [string, (typeof RangeError | typeof TypeError)?] = MESSAGES[code];
  return nodeError(code, message, Class);
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

/** Numbers that nghttp2 has for what a session ends with. */
const NGHTTP2_ERRORS: Readonly<Record<number, number>> = { 1: -505, 3: -524, 5: -510, 6: -522, 9: -523, 11: -904 };
const BAD_PREFACE = -903;

/** `ERR_HTTP2_ERROR`: the session was ended for what the client has sent. */
export function protocolError(code: number, isPreface = false): Error {
  const errno = isPreface ? BAD_PREFACE : NGHTTP2_ERRORS[code] ?? -505;
  return nghttpError(errno) ?? Object.assign(nodeError('ERR_HTTP2_ERROR', 'Protocol error'), { errno });
}

/** `ERR_OUT_OF_RANGE`. */
export function outOfRange(name: string, range: string, value: unknown): Error {
  return nodeError('ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${withSeparators(value)}`, RangeError);
}

/** `ERR_INVALID_CHAR`. */
export function invalidCharacter(name: string): Error {
  return nodeError('ERR_INVALID_CHAR', `Invalid character in ${name}`, TypeError);
}

/** As Node writes large numbers in messages. */
function withSeparators(value: unknown): string {
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) <= 2 ** 32) return inspect(value);
  return String(value).replace(/\B(?=(\d{3})+$)/g, '_');
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
