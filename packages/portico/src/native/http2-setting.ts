/** Whether servers that say nothing of HTTP/2 speak it. */

/** `PORTICO_HTTP2` holds something other than 0 or 1. */
export class Http2SettingError extends RangeError {
  readonly code = 'ERR_PORTICO_HTTP2';
}

/** Name of HTTP/2 over TLS, as ALPN has it. */
export const H2 = 'h2';

/** What a server with HTTP/2 takes, in its order. */
export const BOTH_VERSIONS: readonly string[] = [H2, 'http/1.1'];

/**
 * What `PORTICO_HTTP2` says: 1 has servers of `node:http` and `node:https` take HTTP/2 as well, 0 (the default, also where
 * it is empty) leaves that to their ALPN protocols.
 *
 * @throws Http2SettingError if it is neither
 */
export function speaksHttp2(): boolean {
  const text = process.env['PORTICO_HTTP2'] ?? '';
  if (text !== '' && text !== '0' && text !== '1') {
    throw new Http2SettingError(`PORTICO_HTTP2 is ${JSON.stringify(text)}: write 1 (servers take HTTP/2 as well) or 0 (the default)`);
  }
  return text === '1';
}
