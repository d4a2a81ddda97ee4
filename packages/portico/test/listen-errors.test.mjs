// What `listen` says when the system refuses: Node's error, for the same reason.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { project, run } from './support/programs.mjs';

/** The user `nobody`, as on every Linux. */
const NOBODY = 65534;

/** Listens as a user without privileges, and prints the error. What needs privileges (reading) comes before. */
const APP = `
  const http = require('http');
  http.createServer().listen(0, '127.0.0.1', function () {
    this.close(() => {
      if (process.getuid() === 0) {
        process.setgid(${NOBODY});
        process.setuid(${NOBODY});
      }
      const where = process.argv[2];
      const server = http.createServer();
      server.on('listening', () => { console.log('listening'); server.close(); });
      server.on('error', (error) => {
        console.log(JSON.stringify({ ...error, message: error.message, listening: server.listening }));
        server.close((error) => console.log(error.code));
      });
      if (where.startsWith('/')) server.listen(where);
      else server.listen(Number(where), '127.0.0.1');
    });
  });`;

/** Both say the same, and it is EACCES. */
async function isRefused(folder, where) {
  const [ours, nodes] = await Promise.all([['--import', 'portico/register'], []]
    .map((flags) => run(folder, [...flags, 'app.cjs', where], { PORTICO_REQUIRE: '1' })));
  assert.equal(ours.code, 0, ours.stderr);
  assert.deepEqual(ours, nodes);
  const [error, afterwards] = ours.stdout.split('\n');
  assert.equal(JSON.parse(error).code, 'EACCES');
  assert.equal(JSON.parse(error).listening, false);
  assert.equal(afterwards, 'ERR_SERVER_NOT_RUNNING');
}

test('a port below the unprivileged ones is EACCES', async (t) => {
  const first = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  if (first <= 1) return t.skip('this system lets everybody listen on every port (ip_unprivileged_port_start)');
  await isRefused(project(t, { 'app.cjs': APP }), String(first - 1));
});

test('a socket in a folder that may not be written to is EACCES', async (t) => {
  const folder = project(t, { 'app.cjs': APP });
  chmodSync(folder, 0o755);
  mkdirSync(`${folder}/closed`, 0o555);
  await isRefused(folder, `${folder}/closed/socket`);
});
