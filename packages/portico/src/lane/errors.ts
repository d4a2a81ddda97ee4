/** Errors of what can't be done to a connection. */

import { nodeError } from '../node/error';

/** `ERR_PORTICO_SHARED_CONNECTION`: what would reach into other answers on the connection, those of other servers or of other streams. */
export function sharedConnection(why: string): Error {
  return nodeError('ERR_PORTICO_SHARED_CONNECTION', `This connection carries other answers too, as one behind a host and one of HTTP/2 do: ${why}.`);
}

/** `ERR_HTTP_SOCKET_ENCODING`. */
export function socketEncoding(): Error {
  return nodeError('ERR_HTTP_SOCKET_ENCODING', 'Changing the socket encoding is not allowed per RFC7230 Section 3.');
}
