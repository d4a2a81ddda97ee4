'use strict';
// Exceptions and rejections in every callback that a server calls.

const http = require('node:http');
const { exchange, get, post, listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const THROWS = {
  in_the_handler: () => {
    throw new Error('boom');
  },
  after_the_answer: (req, res) => {
    res.end('x');
    throw new Error('boom');
  },
  in_a_tick: () => process.nextTick(() => {
    throw new Error('boom');
  }),
  in_a_microtask: () => queueMicrotask(() => {
    throw new Error('boom');
  }),
  in_a_promise: async () => {
    throw new Error('boom');
  },
  in_a_data_listener: (req) => req.on('data', () => {
    throw new Error('boom');
  }),
  in_an_end_listener: (req) => req.resume().on('end', () => {
    throw new Error('boom');
  }),
  in_a_finish_listener: (req, res) => {
    res.on('finish', () => {
      throw new Error('boom');
    });
    res.end('x');
  },
  in_a_write_callback: (req, res) => {
    res.write('x', () => {
      throw new Error('boom');
    });
  },
  in_a_request_close_listener: (req, res) => {
    req.on('close', () => {
      throw new Error('boom');
    });
    res.end('x');
  },
  in_a_response_close_listener: (req, res) => {
    res.on('close', () => {
      throw new Error('boom');
    });
    res.end('x');
  },
  by_an_error_event_without_listener: (req, res) => res.emit('error', new Error('boom')),
  by_a_bad_header: (req, res) => res.setHeader('bad header', 'x'),
  a_string: () => {
    throw 'a string'; // eslint-disable-line no-throw-literal
  },
};

/** Reports on standard output what reached the process; `count` is how many did. */
function watch(log, event = 'uncaughtException') {
  const seen = { count: 0 };
  process.on(event, (error, origin) => {
    seen.count += 1;
    log('process', event, error.message ?? error, typeof origin === 'string' ? origin : '');
  });
  return seen;
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 60));

/** One request meets `handler`; once it has thrown, another must be answered. */
async function survive(log, seen, handler) {
  const server = http.createServer((req, res) => (req.url === '/after' ? res.end('alive') : handler(req, res)));
  const port = await listen(server);
  const first = new RawClient(port);
  first.write(post('hello'));
  await waitFor(() => seen.count > 0);
  await settle();
  log('wire', first.text(), first.ended);
  first.destroy();
  log('wire', await exchange(port, get('/after')));
  await close(server);
}

for (const [name, handler] of Object.entries(THROWS)) {
  exports[`${name}_ends_the_process`] = async (log) => {
    process.on('exit', (code) => log('process', 'exit', code));
    const server = http.createServer(handler);
    const port = await listen(server);
    new RawClient(port).write(post('hello'));
  };
  exports[`${name}_is_caught_and_the_server_goes_on`] = async (log) => {
    await survive(log, watch(log), handler);
  };
}

exports.a_capture_callback_gets_it = async (log) => {
  const seen = { count: 0 };
  process.setUncaughtExceptionCaptureCallback((error) => {
    seen.count += 1;
    log('process', 'captured', error.message);
  });
  await survive(log, seen, THROWS.in_the_handler);
};

exports.unhandled_rejections_are_reported = async (log) => {
  await survive(log, watch(log, 'unhandledRejection'), THROWS.in_a_promise);
};

// What follows in the same packet is another matter: node:http loses it, and the connection hangs.
exports.what_came_before_in_a_pipeline_is_answered = async (log) => {
  const seen = watch(log);
  const server = http.createServer((req, res) => {
    res.end(`answer ${req.url}`);
    if (req.url === '/2') throw new Error('second');
  });
  const client = new RawClient(await listen(server));
  client.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until('answer /2');
  log('wire', client.text(), seen.count);
  client.destroy();
  await close(server);
};

exports.other_connections_are_served = async (log) => {
  const seen = watch(log);
  const server = http.createServer((req, res) => {
    if (Number(req.url.slice(1)) % 3 === 0) throw new Error('third');
    res.end(req.url);
  });
  const port = await listen(server);
  const clients = Array.from({ length: 12 }, (_, index) => new RawClient(port).write(get(`/${index}`)));
  await waitFor(() => seen.count === 4 && clients.filter((client) => client.ended).length === 8);
  clients.forEach((client, index) => log('wire', index, client.text().slice(-3)));
  clients.forEach((client) => client.destroy());
  await close(server);
};

/** `handler` throws at what comes first on a connection; what comes later is refused there. */
async function refuseTheRest(log, handler, first, rest) {
  const seen = watch(log);
  const server = http.createServer(handler);
  const client = new RawClient(await listen(server));
  client.write(first);
  await waitFor(() => seen.count > 0);
  await settle();
  client.write(rest);
  await waitFor(() => client.ended);
  log('wire', client.text(), seen.count);
  await close(server);
}

exports.in_a_data_listener_of_half_a_body = (log) => refuseTheRest(log, (req, res) => {
  req.on('data', () => {
    throw new Error('half');
  });
  req.on('end', () => res.end('whole'));
}, post('hello').replace('Length: 5', 'Length: 10'), 'world');

exports.in_an_end_listener_with_half_a_body_behind = (log) => refuseTheRest(log, (req, res) => {
  log('handler', req.url);
  req.resume().on('end', () => {
    log('handler', req.url, 'ended');
    if (req.url === '/first') throw new Error('first');
    res.end('whole');
  });
}, post('hello').replace('/ ', '/first ').replace('Connection: close\r\n', '') + post('hello').replace('Length: 5', 'Length: 10'), 'world');

exports.in_a_connection_listener = async (log) => {
  const seen = watch(log);
  const server = http.createServer((req, res) => res.end('x'));
  server.once('connection', () => {
    throw new Error('connection');
  });
  const port = await listen(server);
  const first = new RawClient(port);
  await waitFor(() => seen.count > 0);
  await settle();
  first.destroy();
  log('wire', await exchange(port, get()));
  await close(server);
};

exports.in_an_upgrade_listener = async (log) => {
  const seen = watch(log);
  const server = http.createServer((req, res) => res.end('x'));
  server.on('upgrade', () => {
    throw new Error('upgrade');
  });
  const port = await listen(server);
  const first = new RawClient(port);
  first.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  await waitFor(() => seen.count > 0);
  await settle();
  first.destroy();
  log('wire', await exchange(port, get()));
  await close(server);
};

exports.in_a_clientError_listener = async (log) => {
  const seen = watch(log);
  const server = http.createServer((req, res) => res.end('x'));
  server.on('clientError', () => {
    throw new Error('client error');
  });
  const port = await listen(server);
  const first = new RawClient(port);
  first.write('nonsense\r\n\r\n');
  await waitFor(() => seen.count > 0);
  await settle();
  first.destroy();
  log('wire', await exchange(port, get()));
  await close(server);
};

exports.in_a_listening_callback = async (log) => {
  watch(log);
  const server = http.createServer((req, res) => res.end('x'));
  server.listen(0, '127.0.0.1', () => {
    setImmediate(async () => {
      log('wire', await exchange(server.address().port, get()));
      await close(server);
    });
    throw new Error('listening');
  });
};

exports.an_error_without_listener_on_listen_ends_the_process = async (log) => {
  process.on('exit', (code) => log('process', 'exit', code));
  const first = http.createServer();
  const port = await listen(first);
  http.createServer().listen(port, '127.0.0.1');
};
