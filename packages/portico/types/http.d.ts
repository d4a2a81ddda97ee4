/** `portico/http` has the exports of `node:http`, and so its types. */
import http = require('node:http');
export = http;
