'use strict';
// Requests that come together: the order of their events, and who is given the socket when.

const http = require('node:http');
const { attempt, listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const GET = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const POST = (path) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody`;
const CHUNKED = (path) => `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`;
const later = (action) => setTimeout(action, 15);

/** What a handler does with a request: answers at once or later, with or without reading. */
const HANDLERS = {
  at_once: (req, res) => res.end(req.url),
  in_a_tick: (req, res) => process.nextTick(() => res.end(req.url)),
  in_a_microtask: async (req, res) => {
    await null;
    res.end(req.url);
  },
  later: (req, res) => later(() => res.end(req.url)),
  last_first: (req, res) => setTimeout(() => res.end(req.url), 60 - 15 * Number(req.url.slice(1))),
  in_parts: (req, res) => {
    res.write(req.url);
    later(() => res.end('.'));
  },
  when_read: (req, res) => req.resume().on('end', () => res.end(req.url)),
  read_and_at_once: (req, res) => {
    req.resume();
    res.end(req.url);
  },
  piped: (req, res) => req.pipe(res),
};

function watch(log, prefix, emitter, names) {
  for (const name of names) emitter.on(name, () => log('events', `${prefix} ${name}`));
}

const order = (requests, handler, events) => async (log) => {
  const server = http.createServer((req, res) => {
    log('events', 'request', req.url, req.complete, res.socket === null);
    if (events.req) watch(log, `req ${req.url}`, req, ['end', 'close']);
    if (events.res) watch(log, `res ${req.url}`, res, ['socket', 'prefinish', 'finish', 'close']);
    handler(req, res);
    log('events', 'handled', req.url);
  });
  const client = new RawClient(await listen(server));
  client.write(requests.join(''));
  await client.until(/3\.?(\r\n0\r\n\r\n)?$|body(\r\n0\r\n\r\n)?[^]*body(\r\n0\r\n\r\n)?[^]*body(\r\n0\r\n\r\n)?$/, 500);
  await new Promise((resolve) => setTimeout(resolve, 30));
  log('wire', client.text());
  client.destroy();
  await close(server);
};

const SENT = {
  gets: [GET('/1'), GET('/2'), GET('/3')],
  posts: [POST('/1'), POST('/2'), POST('/3')],
  chunked_posts: [CHUNKED('/1'), CHUNKED('/2'), CHUNKED('/3')],
  a_mixture: [POST('/1'), GET('/2'), CHUNKED('/3')],
};
const WATCHED = { all: { req: true, res: true }, requests: { req: true }, responses: { res: true } };

for (const [what, requests] of Object.entries(SENT)) {
  for (const [how, handler] of Object.entries(HANDLERS)) {
    for (const [who, events] of Object.entries(WATCHED)) module.exports[`${what}_answered_${how}_seen_by_${who}`] = order(requests, handler, events);
  }
}

/** Runs requests while `methods` of an object that responses are, or inherit from, are replaced by ones that log. */
async function replaced(log, target, options = {}) {
  const originals = {};
  for (const name of ['assignSocket', 'detachSocket']) {
    originals[name] = Object.getOwnPropertyDescriptor(target, name);
    const { [name]: original } = target;
    target[name] = function (socket) {
      log('events', name, this.req.url, socket === this.req.socket);
      if (name === 'detachSocket') log('events', this.socket === socket, socket._httpMessage === this);
      const result = original.call(this, socket);
      if (name === 'assignSocket') log('events', this.socket === socket, socket._httpMessage === this);
      return result;
    };
  }
  const server = http.createServer(options, (req, res) => {
    log('events', 'request', req.url, res.socket === req.socket, res.connection === req.socket, res.socket === null);
    later(() => res.end(req.url));
  });
  const client = new RawClient(await listen(server));
  client.write(GET('/1') + GET('/2'));
  await client.until('/2');
  client.write(GET('/3'));
  await client.until('/3');
  await new Promise((resolve) => setTimeout(resolve, 30));
  log('wire', client.text());
  client.destroy();
  await close(server);
  for (const [name, descriptor] of Object.entries(originals)) {
    if (descriptor === undefined) delete target[name];
    else Object.defineProperty(target, name, descriptor);
  }
}

/** Ticks of handlers whose requests come in one read that fills more than one piece of the memory that events are told in. */
const fullRead = (requests) => async (log) => {
  let left = 1 + requests.length;
  let seen;
  const all = new Promise((resolve) => { seen = resolve; });
  const server = http.createServer((req, res) => {
    log('events', 'request', req.url);
    process.nextTick(() => log('events', 'tick', req.url));
    queueMicrotask(() => log('events', 'microtask', req.url));
    req.resume().on('end', () => {
      log('events', 'end', req.url);
      res.end();
      if (--left === 0) seen();
    });
  });
  const client = new RawClient(await listen(server));
  // What comes before takes a part of that memory.
  client.write(large(GET('/0')));
  await client.until('\r\n\r\n');
  client.write(requests.join(''));
  await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 2000))]);
  client.destroy();
  await close(server);
};
const large = (request) => request.replace('\r\n\r\n', `\r\nX-Large: ${'x'.repeat(15_000)}\r\n\r\n`);

Object.assign(module.exports, {
  ticks_run_behind_all_requests_of_a_full_read: fullRead(['/1', '/2', '/3', '/4'].map((path) => large(GET(path)))),
  ticks_run_behind_the_next_part_of_a_body_of_a_full_read: fullRead([large(CHUNKED('/1')), large(GET('/2')), large(GET('/3')), large(CHUNKED('/4'))]),
  replaced_methods_of_the_prototype_are_called: (log) => replaced(log, http.ServerResponse.prototype),
  replaced_methods_of_a_class_are_called: async (log) => {
    class Response extends http.ServerResponse {}
    await replaced(log, Response.prototype, { ServerResponse: Response });
  },
  replaced_methods_of_one_response_are_called: async (log) => {
    const server = http.createServer((req, res) => {
      const { detachSocket, assignSocket } = res;
      res.assignSocket = function (socket) {
        log('events', 'assign', req.url);
        return assignSocket.call(this, socket);
      };
      res.detachSocket = function (socket) {
        log('events', 'detach', req.url);
        return detachSocket.call(this, socket);
      };
      later(() => res.end(req.url));
    });
    const client = new RawClient(await listen(server));
    client.write(GET('/1') + GET('/2'));
    log('wire', await client.until('/2'));
    await new Promise((resolve) => setTimeout(resolve, 30));
    client.destroy();
    await close(server);
  },
  a_response_is_assigned_once: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', attempt(() => res.assignSocket(req.socket)));
      log('server', attempt(() => res.detachSocket({})));
      res.end('x');
    });
    const client = new RawClient(await listen(server));
    client.write(GET('/'));
    log('wire', await client.until(/x$/));
    client.destroy();
    await close(server);
  },
  a_response_of_a_request_of_the_programs_own: async (log) => {
    // As tools do that call handlers without a network.
    const { Writable } = require('node:stream');
    const server = http.createServer((req, res) => res.end(`answer to ${req.url}`));
    const request = Object.assign(new http.IncomingMessage(new Writable()), { method: 'GET', url: '/mine', httpVersionMajor: 1, httpVersionMinor: 1 });
    const response = new http.ServerResponse(request);
    let text = '';
    response.assignSocket(new Writable({ write(chunk, encoding, callback) {
      text += chunk;
      callback();
    } }));
    server.emit('request', request, response);
    await new Promise((resolve) => setTimeout(resolve, 10));
    log('wire', text.replace(/^Date: .*\r$/m, 'Date: <date>\r'), response.finished, response.writableFinished);
    // So that the engine has something to do.
    const client = new RawClient(await listen(server));
    client.write(GET('/'));
    log('wire', await client.until('answer to /'));
    client.destroy();
    await close(server);
  },
});
