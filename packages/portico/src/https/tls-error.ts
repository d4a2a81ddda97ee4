/**
 * The errors that 'tlsClientError' gives, with the codes that Node's users know.
 */

/** An error with the fields that Node's OpenSSL errors have. */
export interface TlsClientError extends Error {
  code: string;
  library?: string;
  reason?: string;
}

/** From the engine's "CODE message". */
export function engineError(text: string): TlsClientError {
  const space = text.indexOf(' ');
  const code = space === -1 ? text : text.slice(0, space);
  const reason = space === -1 ? text : text.slice(space + 1);
  const error = coded(reason, code);
  if (!code.startsWith('ERR_SSL_')) return error;
  return Object.assign(error, { library: 'SSL routines', reason: code.slice('ERR_SSL_'.length).toLowerCase().replaceAll('_', ' ') });
}

/** The handshake took longer than `handshakeTimeout`. */
export function handshakeTimeoutError(): TlsClientError {
  return coded('TLS handshake timeout', 'ERR_TLS_HANDSHAKE_TIMEOUT');
}

/** The client went away during the handshake. */
export function hangUpError(): TlsClientError {
  return coded('socket hang up', 'ECONNRESET');
}

/** A callback of `SNICallback` was called twice. */
export function multipleCallbackError(): TlsClientError {
  return coded('Callback called multiple times', 'ERR_MULTIPLE_CALLBACK');
}

/** `SNICallback` or `addContext` was given something that is no usable SecureContext. */
export function invalidContextError(): TlsClientError {
  return coded('Invalid SNI context', 'ERR_TLS_INVALID_CONTEXT', TypeError);
}

/** `ALPNCallback` chose a protocol that the client did not offer. */
export function alpnResultError(value: unknown, offered: string[]): TlsClientError {
  return coded(`ALPN callback returned a value (${String(value)}) that did not match any of the client's offered `
    + `protocols (${offered.join(', ')})`, 'ERR_TLS_ALPN_CALLBACK_INVALID_RESULT', TypeError);
}

/** A method of TLSSocket that can't work here. */
export function unsupportedMethod(method: string, advice: string): TlsClientError {
  return coded(`tlsSocket.${method}() is not possible on a Portico connection. ${advice}`, 'ERR_PORTICO_UNSUPPORTED');
}

function coded(message: string, code: string, Base: new (message: string) => Error = Error): TlsClientError {
  const error = new Base(message) as TlsClientError;
  error.code = code;
  return error;
}
