'use strict';
// Exceptions and rejections in every callback that a server calls.

const http = require('node:http');
const { exchange, get, post, listen, close, RawClient } = require('../lib/scenario-tools.cjs');

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

async function survive(log, handler, request = post('hello')) {
  const server = http.createServer((req, res) => (req.url === '/after' ? res.end('alive') : handler(req, res)));
  const port = await listen(server);
  const first = new RawClient(port);
  first.write(request);
  await new Promise((resolve) => setTimeout(resolve, 50));
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
    process.on('uncaughtException', (error, origin) => log('process', 'uncaught', error.message ?? error, origin));
    await survive(log, handler);
  };
}

exports.a_capture_callback_gets_it = async (log) => {
  process.setUncaughtExceptionCaptureCallback((error) => log('process', 'captured', error.message));
  await survive(log, THROWS.in_the_handler);
};

exports.unhandled_rejections_are_reported = async (log) => {
  process.on('unhandledRejection', (error) => log('process', 'unhandled', error.message));
  await survive(log, THROWS.in_a_promise);
};

exports.the_rest_of_a_pipeline_is_served = async (log) => {
  process.on('uncaughtException', (error) => log('process', error.message));
  const server = http.createServer((req, res) => {
    log('server', req.url);
    if (req.url === '/2') {
      res.end('two');
      throw new Error('second');
    }
    res.end(req.url);
  });
  const requests = [1, 2, 3].map((number) => `GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`).join('');
  log('wire', await exchange(await listen(server), requests + get('/4')));
  await close(server);
};

exports.other_connections_are_served = async (log) => {
  process.on('uncaughtException', (error) => log('process', error.message));
  const server = http.createServer((req, res) => {
    if (Number(req.url.slice(1)) % 3 === 0) throw new Error('third');
    res.end(req.url);
  });
  const port = await listen(server);
  const clients = Array.from({ length: 12 }, (_, index) => {
    const client = new RawClient(port);
    client.write(get(`/${index}`));
    return client;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  clients.forEach((client, index) => log('wire', index, client.text().slice(-3)));
  clients.forEach((client) => client.destroy());
  await close(server);
};

exports.in_a_connection_listener = async (log) => {
  process.on('uncaughtException', (error) => log('process', error.message));
  const server = http.createServer((req, res) => res.end('x'));
  server.once('connection', () => {
    throw new Error('connection');
  });
  const port = await listen(server);
  const first = new RawClient(port);
  await new Promise((resolve) => setTimeout(resolve, 50));
  first.destroy();
  log('wire', await exchange(port, get()));
  await close(server);
};

exports.in_an_upgrade_listener = async (log) => {
  process.on('uncaughtException', (error) => log('process', error.message));
  const server = http.createServer((req, res) => res.end('x'));
  server.on('upgrade', () => {
    throw new Error('upgrade');
  });
  const port = await listen(server);
  const first = new RawClient(port);
  first.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  await new Promise((resolve) => setTimeout(resolve, 50));
  first.destroy();
  log('wire', await exchange(port, get()));
  server.close();
};

exports.in_a_clientError_listener = async (log) => {
  process.on('uncaughtException', (error) => log('process', error.message));
  const server = http.createServer((req, res) => res.end('x'));
  server.on('clientError', () => {
    throw new Error('client error');
  });
  const port = await listen(server);
  const first = new RawClient(port);
  first.write('nonsense\r\n\r\n');
  await new Promise((resolve) => setTimeout(resolve, 50));
  first.destroy();
  log('wire', await exchange(port, get()));
  server.close();
};

exports.in_a_listening_callback = async (log) => {
  process.on('uncaughtException', (error) => log('process', error.message));
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
