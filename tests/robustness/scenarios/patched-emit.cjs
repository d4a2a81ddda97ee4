'use strict';
// Agents see events by an `emit` of their own, wherever they put it: all that Node emits must pass it, listeners or none.

const { EventEmitter, once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const stream = require('node:stream');
const { listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const kept = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const posted = (path, body) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Puts an `emit` on an object that tells of each call, and returns what takes it off. */
function patch(object, note) {
  const own = Object.getOwnPropertyDescriptor(object, 'emit');
  const { emit } = object;
  object.emit = function patched(event, ...rest) {
    note(this, event);
    return emit.call(this, event, ...rest);
  };
  return () => (own === undefined ? delete object.emit : Object.defineProperty(object, 'emit', own));
}

/** Which of a server's objects one is, in words. */
function nameOf(object, server) {
  if (object === server) return 'server';
  if (object instanceof http.ServerResponse) return `res ${object.req.url}`;
  if (object instanceof http.IncomingMessage && object.url) return `req ${object.url}`;
  return undefined;
}

/** Requests of every kind on one connection, and one that is cut off. */
async function useServer(server) {
  const port = await listen(server);
  const client = new RawClient(port);
  for (const [request, answer] of [
    [kept('/ended'), 'ended'], [kept('/piece'), /pie(\r\n2\r\n)?ce/], [kept('/later'), 'later'], [kept('/empty').replace('GET', 'HEAD'), '/empty'],
    [posted('/unread', 'x'.repeat(20)), 'unread'], [posted('/read', 'x'.repeat(20)), 'read done'],
    [kept('/first') + kept('/second'), 'second'], [kept('/moved'), 'moved'],
  ]) {
    client.write(request);
    await client.until(answer);
  }
  client.destroy();
  const cut = new RawClient(port);
  cut.write(kept('/cut'));
  await cut.until('cut');
  cut.destroy();
  await waitFor(() => cutOff.destroyed && server._connections === 0);
  await new Promise(setImmediate);
  await close(server);
}

/** The response that is cut off, once there is one. */
let cutOff;

const HANDLERS = {
  '/ended': (res) => res.end('ended'),
  '/piece': (res) => {
    res.write('pie');
    res.end('ce');
  },
  '/later': (res) => setTimeout(() => res.end('later'), 5),
  '/empty': (res) => res.setHeader('X-Path', '/empty').end(),
  '/unread': (res) => res.end('unread'),
  '/read': (res) => res.req.resume().on('end', () => res.end('read done')),
  '/first': (res) => setTimeout(() => res.end('first'), 5),
  '/second': (res) => res.end('second'),
  '/moved': (res) => res.writeHead(302, { Location: '/moved' }).end(),
  '/cut': (res) => {
    cutOff = res;
    res.write('cut');
  },
};

/** Runs all requests with `emit` replaced on objects that `targets` gives before there is a server. */
function watched(targets, ofServer = () => []) {
  return async (log) => {
    const server = http.createServer((req, res) => HANDLERS[req.url](res));
    const note = (object, event) => {
      const name = nameOf(object, server);
      // Node's own listeners come and go as its version likes.
      if (name !== undefined && event !== 'newListener' && event !== 'removeListener') log(name, event);
    };
    const restore = [...targets(), ...ofServer(server)].map((object) => patch(object, note));
    try {
      await useServer(server);
    } finally {
      for (const take of restore.reverse()) take();
    }
  };
}

/** A server of which each request's objects are changed by the server's own `emit`, as context managers do it. */
function boundBy(change) {
  return async (log) => {
    const server = http.createServer((req, res) => HANDLERS[req.url](res));
    const { emit } = server;
    server.emit = function bound(event, ...args) {
      if (event === 'request') change(...args, (object, name) => log(nameOf(object, server), name));
      return emit.call(this, event, ...args);
    };
    await useServer(server);
  };
}

module.exports = {
  of_the_response_class: watched(() => [http.ServerResponse.prototype]),
  of_the_request_class: watched(() => [http.IncomingMessage.prototype]),
  of_the_server_class: watched(() => [http.Server.prototype]),
  of_one_server: watched(() => [], (server) => [server]),
  of_outgoing_messages: watched(() => [http.OutgoingMessage.prototype]),
  of_readable_streams: watched(() => [stream.Readable.prototype]),
  of_streams: watched(() => [stream.Stream.prototype]),
  of_all_emitters: watched(() => [EventEmitter.prototype]),
  of_both_messages: watched(() => [http.ServerResponse.prototype, http.IncomingMessage.prototype]),
  of_each_response: boundBy((req, res, note) => patch(res, note)),
  of_each_request: boundBy((req, res, note) => patch(req, note)),
  of_a_class_of_the_program: async (log) => {
    class Response extends http.ServerResponse {
      emit(event, ...rest) {
        log(`res ${this.req.url}`, event);
        return super.emit(event, ...rest);
      }
    }
    class Request extends http.IncomingMessage {
      emit(event, ...rest) {
        log(`req ${this.url}`, event);
        return super.emit(event, ...rest);
      }
    }
    await useServer(http.createServer({ ServerResponse: Response, IncomingMessage: Request }, (req, res) => HANDLERS[req.url](res)));
  },
  of_an_application_s_prototypes: async (log) => {
    const response = Object.create(http.ServerResponse.prototype, { emit: { value(event, ...rest) {
      log(`res ${this.req.url}`, event);
      return http.ServerResponse.prototype.emit.call(this, event, ...rest);
    } } });
    await useServer(http.createServer((req, res) => HANDLERS[req.url](Object.setPrototypeOf(res, response))));
  },
  // A socket tells more of itself than Node's does: only what programs act on is compared.
  of_sockets: async (log) => {
    let server;
    const restore = patch(net.Socket.prototype, (socket, event) => {
      if (socket.server === server && ['end', 'close', 'error', 'timeout', 'finish'].includes(event)) log('socket', event);
    });
    try {
      server = http.createServer((req, res) => res.end('x'));
      const port = await listen(server);
      const client = new RawClient(port);
      client.write(kept('/'));
      await client.until('x');
      client.destroy();
      server.close();
      await once(server, 'close');
    } finally {
      restore();
    }
  },
  a_silent_connection: async (log) => {
    const server = http.createServer();
    patch(server, (object, event) => log('server', event));
    const client = new RawClient(await listen(server));
    await once(client.socket, 'connect');
    await waitFor(() => server._connections === 1);
    client.destroy();
    await waitFor(() => server._connections === 0);
    await close(server);
  },
  replaced_while_it_listens: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const port = await listen(server);
    const before = new RawClient(port);
    before.write(kept('/before'));
    await before.until('x');
    let announced = 0;
    const restore = patch(http.Server.prototype, (object, event) => {
      if (object === server) log('server', event);
      if (event === 'connection') announced++;
    });
    try {
      before.write(kept('/again'));
      await before.until(/x[^]*x/);
      const after = new RawClient(port);
      after.write(kept('/after'));
      await after.until('x');
      after.write(kept('/settled'));
      await after.until(/x[^]*x/);
      const silent = new RawClient(port);
      await waitFor(() => announced === 2);
      for (const client of [before, after, silent]) client.destroy();
      await waitFor(() => server._connections === 0);
      await close(server);
    } finally {
      restore();
    }
  },
  an_idle_connection_times_out: async (log) => {
    const server = http.createServer();
    server.setTimeout(50);
    patch(server, (object, event) => log('server', event));
    const client = new RawClient(await listen(server));
    await client.all();
    await close(server);
  },
};
