'use strict';
// In what order a client gets what a handler writes to a response and to its socket: sequences of writes, corks and turns, by
// a generator with a fixed seed. Each letter is a step; see `STEPS`.

const http = require('node:http');
const { close, listen, RawClient } = require('../lib/scenario-tools.cjs');

const SEQUENCES = 120;
const IN_A_SCENARIO = 20;
const SMALL_BYTES = 20_000; // more than counts as written at once
const LARGE_BYTES = 200_000;

/** `state.corks` and `socketCorks`: how often response and socket are corked by the sequence, which takes away no others. */
const STEPS = {
  w: ({ res, index }) => void res.write(`a${index}`),
  s: ({ socket, index }) => void socket.write(`{s${index}}`),
  S: ({ socket }) => void socket.write('R'.repeat(SMALL_BYTES)),
  L: ({ socket }) => void socket.write(Buffer.alloc(LARGE_BYTES, 'R')),
  c: (state) => {
    state.socketCorks++;
    state.socket.cork();
  },
  u: (state) => {
    if (state.socketCorks === 0) return;
    state.socketCorks--;
    state.socket.uncork();
  },
  C: (state) => {
    state.corks++;
    state.res.cork();
  },
  U: (state) => {
    if (state.corks === 0) return;
    state.corks--;
    state.res.uncork();
  },
  t: () => new Promise((resolve) => process.nextTick(resolve)),
  i: () => new Promise((resolve) => setImmediate(resolve)),
};

async function take(steps, res) {
  const { socket } = res;
  const state = { res, socket, corks: 0, socketCorks: 0, index: 0 };
  for (const step of steps) {
    state.index++;
    await STEPS[step](state);
  }
  while (state.socketCorks > 0) STEPS.u(state);
  while (state.corks > 0) STEPS.U(state);
  res.end('z');
}

/** The same numbers in every run. */
function makeRandom(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

function sequences() {
  const random = makeRandom(26);
  const letters = 'wwssSLcutCUi';
  const one = () => Array.from({ length: 2 + random(6) }, () => letters[random(letters.length)]).join('');
  return Array.from({ length: SEQUENCES }, one);
}

function scenario(list, prepare = () => undefined) {
  return async (log) => {
    const server = http.createServer((req, res) => {
      prepare(res);
      return take(req.url.slice(1), res);
    });
    const port = await listen(server);
    for (const steps of list) {
      const client = new RawClient(port).write(`GET /${steps} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      const text = (await client.all()).replace(/^Date: .*\r\n/m, '');
      log('wire', steps, text.replace(/R{100,}/g, ({ length }) => `<${length}>`));
    }
    await close(server);
  };
}

const all = sequences();
const parts = Object.fromEntries(Array.from({ length: SEQUENCES / IN_A_SCENARIO }, (_, part) =>
  [`sequences_of_writes_${part + 1}`, scenario(all.slice(part * IN_A_SCENARIO, (part + 1) * IN_A_SCENARIO))]));

module.exports = {
  ...parts,
  the_same_with_a_known_length: scenario(all.slice(0, 30), (res) => res.setHeader('Content-Length', 1000)),
  a_large_write_then_another_then_the_end: scenario(['Ls', 'Lss', 'LsLs']),
  writes_between_writes_that_wait: scenario(['LwsLws', 'Swsws', 'SwCwswUs']),
};
