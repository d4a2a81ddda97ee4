'use strict';

const fs = require('node:fs');
const path = require('node:path');

const file = path.join(__dirname, '../../.build/megabyte');
fs.writeFileSync(file, Buffer.alloc(1024 * 1024, 'x'));

/** 1 MB from a file, in the parts that it is read in: node:http sends this chunked. */
module.exports = function pipe(request, response) {
  response.setHeader('Content-Type', 'application/octet-stream');
  fs.createReadStream(file).pipe(response);
};
