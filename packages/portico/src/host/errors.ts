/**
 * Errors of listening on a URL prefix. Their codes are stable; the host's own come through with its text.
 */

/** An error with a code, as 'error' events of servers have it. */
export interface PrefixError extends Error {
  code: string;
  /** The URL prefix. */
  prefix?: string;
  syscall?: string;
}

/** Makes one. */
export function prefixError(code: string, message: string, prefix?: string): PrefixError {
  const error = new Error(message) as PrefixError;
  error.code = code;
  if (prefix !== undefined) error.prefix = prefix;
  error.syscall = 'listen';
  return error;
}
