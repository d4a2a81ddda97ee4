'use strict';
// Streams that flow to listeners of 'data', bodies and tunnels, and what a program does to one in between.

const http = require('node:http');
const { Writable } = require('node:stream');
const { listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const UPGRADE = 'GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';
const ACCEPT = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n';

const readable = (stream) => [stream.readableFlowing, stream.readableLength, stream.readableDidRead, stream.readableEnded, stream.isPaused()];
const writable = (socket) => [socket.writableLength, socket.writableNeedDrain, socket.writableCorked, socket.writableEnded];
const collector = (log) => new Writable({
  write(chunk, encoding, done) {
    log('server', 'piped', String(chunk));
    done();
  },
});

/** What a listener of 'data' does to the stream that it listens to, when its first part has come. */
const disturbances = {
  nothing: () => {},
  reads: (stream, log) => log('server', 'read', stream.read()),
  pauses: (stream, log) => {
    stream.pause();
    setTimeout(() => {
      log('server', 'resumed', ...readable(stream));
      stream.resume();
    }, 60);
  },
  pauses_for_a_tick: (stream) => {
    stream.pause();
    process.nextTick(() => stream.resume());
  },
  sets_an_encoding: (stream) => stream.setEncoding('hex'),
  pipes: (stream, log) => stream.pipe(collector(log)),
  pipes_and_unpipes: (stream, log) => {
    const target = collector(log);
    stream.pipe(target);
    stream.unpipe(target);
    setTimeout(() => stream.resume(), 40);
  },
  listens_to_readable: (stream, log) => stream.on('readable', () => {
    for (let part = stream.read(); part !== null; part = stream.read()) log('server', 'readable', String(part));
  }),
  puts_a_part_back: (stream) => stream.unshift(Buffer.from('back')),
  has_a_push_of_its_own: (stream, log) => {
    const { push } = stream;
    stream.push = function own(chunk, ...rest) {
      log('server', 'push', chunk === null ? 'end' : String(chunk));
      return push.call(this, chunk, ...rest);
    };
  },
  has_an_emit_of_its_own: (stream, log) => {
    const { emit } = stream;
    stream.emit = function own(event, ...rest) {
      if (event === 'data' || event === 'end') log('server', 'emit', event);
      return emit.call(this, event, ...rest);
    };
  },
  listens_no_more: (stream, log) => {
    stream.removeAllListeners('data');
    log('server', 'listens no more', ...readable(stream));
  },
  counts_ticks: (stream, log) => {
    process.nextTick(() => log('server', 'tick', ...readable(stream)));
    Promise.resolve().then(() => log('server', 'microtask'));
  },
};

/** Logs the parts of a stream, and does what `name` says at the first. */
function listenTo(stream, name, log, heard) {
  let parts = 0;
  log('server', 'before', ...readable(stream));
  stream.on('data', (part) => {
    log('server', 'part', String(part), ...readable(stream));
    if (++parts === 1) disturbances[name](stream, log);
    heard?.(part);
  });
  stream.on('end', () => log('server', 'end', ...readable(stream)));
}

const scenarios = {};
for (const name of Object.keys(disturbances)) {
  scenarios[`a_body_whose_reader_${name}`] = async (log) => {
    const server = http.createServer((req, res) => {
      listenTo(req, name, log);
      req.on('close', () => log('server', 'close'));
      setTimeout(() => res.end('done'), 200);
    });
    const client = new RawClient(await listen(server));
    for (const text of ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16\r\n\r\n', 'one-', 'two-', 'three-', '!!']) {
      client.write(text);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    log('wire', await client.until('done'));
    client.destroy();
    await close(server);
  };
  // Node has a server's sockets refuse to.
  if (name === 'sets_an_encoding') continue;
  scenarios[`a_tunnel_whose_reader_${name}`] = async (log) => {
    const server = http.createServer();
    server.on('upgrade', (req, socket) => {
      socket.write(ACCEPT);
      listenTo(socket, name, log);
      socket.on('end', () => socket.end('done'));
      socket.on('close', () => log('server', 'close'));
    });
    const client = new RawClient(await listen(server), { allowHalfOpen: true });
    client.write(UPGRADE);
    await client.until('\r\n\r\n');
    for (const text of ['one-', 'two-', 'three-', '!!']) {
      client.write(text);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    await new Promise((resolve) => setTimeout(resolve, 80));
    client.socket.end();
    log('wire', await client.until('done', 500));
    client.destroy();
    await close(server);
  };
}

/** Writes of all kinds into a tunnel, and what is told of them. */
async function writeInto(log, write) {
  const server = http.createServer();
  server.on('upgrade', (req, socket) => {
    socket.write(ACCEPT);
    socket.once('data', () => {
      socket.on('drain', () => log('server', 'drain', ...writable(socket)));
      socket.on('finish', () => log('server', 'finish', ...writable(socket)));
      write(socket);
    });
  });
  const client = new RawClient(await listen(server));
  client.write(UPGRADE);
  await client.until('\r\n\r\n');
  client.write('go');
  log('wire', await client.all());
  await close(server);
}

Object.assign(scenarios, {
  a_tunnel_has_no_encoding: async (log) => {
    const server = http.createServer();
    for (const event of ['upgrade', 'connect']) {
      server.on(event, (req, socket) => {
        for (const encoding of ['hex', 'utf8', undefined]) {
          try {
            socket.setEncoding(encoding);
            log('server', event, encoding, 'set');
          } catch ({ name, code, message }) {
            log('server', event, encoding, name, code, message);
          }
        }
        socket.write(ACCEPT);
        socket.on('data', (part) => {
          log('server', event, typeof part, socket.readableEncoding);
          socket.end('done');
        });
      });
    }
    const port = await listen(server);
    for (const head of [UPGRADE, 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n']) {
      const client = new RawClient(port);
      client.write(head);
      await client.until('\r\n\r\n');
      client.write('part');
      log('wire', await client.all());
    }
    await close(server);
  },
  a_tunnel_takes_writes_with_callbacks: (log) => writeInto(log, (socket) => {
    for (let count = 0; count < 5; count++) {
      log('server', socket.write(`part ${count} `, (error) => log('server', 'callback', count, error ?? null)), ...writable(socket));
    }
    process.nextTick(() => log('server', 'tick'));
    setImmediate(() => socket.end('over'));
  }),
  a_tunnel_takes_many_small_writes: (log) => writeInto(log, (socket) => {
    let count = 0;
    const go = () => {
      for (let index = 0; index < 40; index++) socket.write(`${String(count++).padStart(6, '0')} of many small parts, each of some fifty bytes\n`);
      if (count < 400) setImmediate(go);
      else socket.end(() => log('server', 'ended', ...writable(socket)));
    };
    go();
  }),
  a_tunnel_takes_corked_writes_of_all_encodings: (log) => writeInto(log, (socket) => {
    socket.cork();
    socket.write('half a pair \ud83d');
    socket.write('\ude00 and the other half');
    socket.write('caf\u00e9', 'latin1');
    socket.write('caf\u00e9');
    socket.write('68656c6c6f', 'hex');
    socket.write('');
    socket.write(Buffer.from([0, 255]), (error) => log('server', 'callback', error ?? null));
    log('server', 'corked', ...writable(socket));
    socket.uncork();
    log('server', 'uncorked', ...writable(socket));
    socket.end();
  }),
  a_tunnel_takes_a_large_part_behind_small_ones: (log) => writeInto(log, (socket) => {
    socket.cork();
    socket.write('small ');
    socket.write(Buffer.alloc(40_000, 'L'), () => log('server', 'callback'));
    socket.write(' small');
    socket.uncork();
    socket.write('last', () => log('server', 'callback of the last'));
    setTimeout(() => socket.end(), 30);
  }),
});

/** Chunks of an answer that leave as one where Node joins them, and never become other bytes. */
scenarios.an_answer_of_small_texts = async (log) => {
  const kinds = {
    ascii: ['one ', 'two ', 'three'],
    pairs: ['\ud83d', '\ude00', 'x'],
    accents: ['caf\u00e9 ', 'na\u00efve'],
    latin1: [['caf\u00e9', 'latin1'], ['more', 'latin1']],
    hex: [['6162', 'hex'], 'cd'],
    mixed: ['text', Buffer.from('bytes'), ''],
  };
  const server = http.createServer((req, res) => {
    const [, kind, framing] = req.url.split('/');
    if (framing === 'sized') res.setHeader('Content-Length', 64);
    for (const part of kinds[kind]) log('server', kind, res.write(...[part].flat()));
    res.end(framing === 'sized' ? undefined : 'end');
    if (framing === 'sized') res.socket.destroySoon();
  });
  const port = await listen(server);
  for (const kind of Object.keys(kinds)) {
    for (const framing of ['chunked', 'sized']) {
      const client = new RawClient(port);
      client.write(`GET /${kind}/${framing} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      log('wire', kind, framing, await client.all());
    }
  }
  await close(server);
};

module.exports = scenarios;
