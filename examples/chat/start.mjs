// `make run EXAMPLE=chat`: N processes on http://localhost:8080/1/, /2/, ... and a page that lists them at /.
//
// HTTP_PORT (8080) and CHAT_PROCESSES (2) change that. Nothing here listens on the port: Portico's host does, and each
// process registers its URL prefix there.

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const port = number('HTTP_PORT', 8080, 65535);
const count = number('CHAT_PROCESSES', 2, 64);
const program = fileURLToPath(new URL('chat-server.mjs', import.meta.url));
const page = readFileSync(new URL('public/index.html', import.meta.url), 'utf8');
/** Pause before a process that died is started again. */
const PAUSE_MS = 500;

let stopping = false;
const children = new Map();

/** Starts process `index` and keeps it running. Resolves when it listens. */
function start(index) {
  const child = fork(program, [`http://*:${port}/${index}/`]);
  children.set(index, child);
  child.on('exit', async (code, signal) => {
    children.delete(index);
    if (stopping) return;
    console.error(`  Process ${index} ended (${signal ?? code}); it is started again.`);
    await sleep(PAUSE_MS);
    if (!stopping) await start(index);
  });
  return new Promise((resolve) => child.once('message', resolve));
}

const lobby = http.createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname !== '/') {
    response.writeHead(404, { 'Content-Type': 'text/plain' });
    response.end('There is nothing here. The chat begins at /\n');
    return;
  }
  const links = Array.from({ length: count }, (_, index) => `<li><a href="/${index + 1}/lobby">/${index + 1}/lobby</a></li>`);
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
  response.end(page.replace('<!-- rooms -->', links.join('\n      ')));
});
lobby.on('error', (error) => {
  console.error(`\n${error.message}\n`);
  process.exit(1);
});
lobby.listen(`http://*:${port}/`, async () => {
  await Promise.all(Array.from({ length: count }, (_, index) => start(index + 1)));
  console.log([
    '', '  The chat is up.', '', `    http://localhost:${port}/`, '',
    `  ${count} processes share the port; each has the rooms below its own path.`, '  Ctrl-C stops it.', '',
  ].join('\n'));
});

function stop() {
  if (stopping) process.exit(130);
  stopping = true;
  console.log('\n  Stopping.');
  for (const child of children.values()) child.kill('SIGTERM');
  const ended = [...children.values()].map((child) => new Promise((resolve) => child.once('exit', resolve)));
  lobby.close();
  Promise.all(ended).then(() => process.exit(0));
}
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

function number(variable, fallback, most) {
  const text = process.env[variable];
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value > 0 && value <= most) return value;
  console.error(`${variable} must be a number from 1 to ${most}; it is '${text}'.`);
  process.exit(2);
}
