/** Names of HTTP/2's error codes, as Node's messages have them. */

import { constants } from 'node:http2';

/** Name of an error code, or the number. */
export function nameOf(code: number): string {
  const found = Object.entries(constants).find(([name, value]) => value === code && /^NGHTTP2_[A-Z_]+$/.test(name) && CODES.has(name));
  return found?.[0] ?? String(code);
}

const CODES = new Set(['NGHTTP2_NO_ERROR', 'NGHTTP2_PROTOCOL_ERROR', 'NGHTTP2_INTERNAL_ERROR', 'NGHTTP2_FLOW_CONTROL_ERROR', 'NGHTTP2_SETTINGS_TIMEOUT',
  'NGHTTP2_STREAM_CLOSED', 'NGHTTP2_FRAME_SIZE_ERROR', 'NGHTTP2_REFUSED_STREAM', 'NGHTTP2_CANCEL', 'NGHTTP2_COMPRESSION_ERROR', 'NGHTTP2_CONNECT_ERROR',
  'NGHTTP2_ENHANCE_YOUR_CALM', 'NGHTTP2_INADEQUATE_SECURITY', 'NGHTTP2_HTTP_1_1_REQUIRED']);
