// V8's view of the sockets of connections: as those of node:net they have one hidden class, and are no dictionaries, where
// each look at a property is a search. Decided by V8, so by the same functions as its own tests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';
import { project, run } from './support/programs.mjs';

const { key, cert } = certificates().issue('sockets');
const SOCKETS = 20; // V8 sizes the objects of a constructor by the first eight

const program = (module, options) => `
  const server = require('${module}').createServer(${options}, (request, response) => response.end(String(sockets.push(request.socket))));
  const sockets = [];
  server.listen(0, '127.0.0.1', async () => {
    for (let count = 0; count < ${SOCKETS}; count++) {
      const options = { port: server.address().port, host: '127.0.0.1', agent: false, rejectUnauthorized: false };
      await new Promise((resolve) => require('${module}').get(options, (response) => response.resume().on('end', resolve)));
    }
    const [one, other] = sockets.slice(-2);
    console.log(sockets.length, one === other, %HasFastProperties(one), %HaveSameMap(one, other));
    process.exit();
  });`;

for (const [module, options] of [['http', '{}'], ['https', JSON.stringify({ key, cert })]]) {
  test(`sockets of ${module} share a hidden class`, async (t) => {
    const folder = project(t, { 'app.cjs': program(module, options) });
    const { stdout, stderr } = await run(folder, ['--allow-natives-syntax', '--import', 'portico/register', 'app.cjs'], { PORTICO_REQUIRE: '1' });
    assert.equal(stdout, `${SOCKETS} false true true\n`, stderr);
  });
}
