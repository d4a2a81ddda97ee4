/** `portico/https` has the exports of `node:https`, and so its types. */
import https = require('node:https');
export = https;
