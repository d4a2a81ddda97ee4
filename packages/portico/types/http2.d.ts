/** `portico/http2` has the exports of `node:http2`, and so its types. */
import http2 = require('node:http2');
export = http2;
