import { instance } from './instance';
import { speaksHttp2 } from './native/http2-setting';

/**
 * Replaces the server side of `node:http` and `node:https`, and with `PORTICO_HTTP2=1` that of `node:http2`, for `require` and
 * `import` alike. Call it before anything else takes a class out of these modules; `portico/register` as a preload is the
 * surest way.
 */
export function slipstream(): void {
  instance().replace('http');
  instance().replace('https');
  if (instance().status().active && speaksHttp2()) instance().replace('http2');
}
