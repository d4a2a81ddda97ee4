/** Errors of what can't be done to a connection. */

import { nodeError } from '../node/error';

/** `ERR_PORTICO_SHARED_CONNECTION`: what would reach into the answers of other servers on the connection of a host. */
export function sharedConnection(why: string): Error {
  return nodeError('ERR_PORTICO_SHARED_CONNECTION', `This connection is shared with other servers behind a host: ${why}.`);
}

/** `ERR_HTTP_SOCKET_ENCODING`. */
export function socketEncoding(): Error {
  return nodeError('ERR_HTTP_SOCKET_ENCODING', 'Changing the socket encoding is not allowed per RFC7230 Section 3.');
}
