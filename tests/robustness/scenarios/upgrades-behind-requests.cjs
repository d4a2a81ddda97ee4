'use strict';
// An upgrade pipelined behind requests that are not answered yet: how the answers, and their events, share the connection with
// the stream, and what ends with it.

const http = require('node:http');
const { listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const get = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const UPGRADE = 'GET /stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n';
const SETTLE_MS = 40;
const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

/** What is asked before the upgrade; answers whose path begins with `/held` are given when the scenario says so. */
const REQUESTS = {
  one_held: [get('/held')],
  one_held_and_one_answered: [get('/held'), get('/now')],
  two_held: [get('/held/1'), get('/held/2')],
  one_in_the_middle_of_its_answer: [get('/held/begun')],
  a_body_and_one_held: ['POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc', get('/held')],
};

/** What happens once the upgrade has been taken. */
const ENDS = {
  answered: async ({ held }) => {
    for (const answer of held) {
      answer();
      await settle();
    }
  },
  answered_together: async ({ held }) => held.forEach((answer) => answer()),
  answered_while_the_stream_is_written: async ({ held, socket }) => {
    for (const answer of held) {
      socket.write('<');
      answer();
      await settle();
      socket.write('>');
      await settle();
    }
  },
  reset: async ({ client }) => client.socket.resetAndDestroy(),
  reset_and_answered: async ({ client, held, socket }) => {
    client.socket.resetAndDestroy();
    await waitFor(() => socket.destroyed);
    await settle();
    held.forEach((answer) => answer());
  },
  destroyed: async ({ socket }) => socket.destroy(),
  ended_on_both_sides: async ({ client, socket }) => {
    socket.end();
    client.socket.end();
    socket.resume();
  },
};

const scenario = (requests, end) => async (log) => {
  const held = [];
  let socket = null;
  const tell = (name, emitter, events, state) => {
    for (const event of events) emitter.on(event, (value) => log('server', name, event, value instanceof Error ? value.code : '', state()));
  };
  const server = http.createServer((req, res) => {
    log('server', req.url);
    tell(`req ${req.url}`, req, ['end', 'aborted', 'error', 'close'], () => [req.destroyed, req.complete]);
    tell(`res ${req.url}`, res, ['finish', 'error', 'close'], () => [res.destroyed, res.writableFinished]);
    if (req.url === '/held/begun') res.write('begun');
    if (req.url.startsWith('/held')) held.push(() => res.end('late', () => log('server', 'written', req.url)));
    else if (req.method === 'POST') req.resume().on('end', () => res.end('body'));
    else res.end('now');
  });
  server.on('upgrade', (req, taken) => {
    socket = taken;
    log('server', 'upgrade', socket.listenerCount('close'));
    tell('stream', socket, ['end', 'error', 'close'], () => socket.destroyed);
    socket.write(SWITCH, () => log('server', 'switched'));
  });
  const client = new RawClient(await listen(server), { allowHalfOpen: true });
  client.write(requests.join('') + UPGRADE);
  log('client', await waitFor(() => socket !== null));
  await client.until('101');
  await settle();
  await end({ held, socket, client });
  await settle();
  log('wire', client.text());
  client.destroy();
  socket.destroy();
  await settle();
  await close(server);
};

for (const [before, requests] of Object.entries(REQUESTS)) {
  for (const [how, end] of Object.entries(ENDS)) module.exports[`${how}_behind_${before}`] = scenario(requests, end);
}
