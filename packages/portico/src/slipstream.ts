import { instance } from './instance';

/**
 * Replaces the server side of `node:http` and `node:https`, for `require` and `import` alike. Call it before anything
 * else takes a class out of these modules; `portico/register` as a preload is the surest way.
 */
export function slipstream(): void {
  instance().replace('http');
  instance().replace('https');
}
