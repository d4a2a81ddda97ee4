'use strict';
// Classes, prototypes and subclassing, as programs and frameworks use them.

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const stream = require('node:stream');
const util = require('node:util');
const { EventEmitter } = require('node:events');
const { attempt, exchange, get, listen, close, serveOnce } = require('../lib/scenario-tools.cjs');

async function serve(server, request = get()) {
  const text = await exchange(await listen(server), request);
  await close(server);
  return text;
}

module.exports = {
  exports_are_complete: async (log) => {
    for (const [name, module] of Object.entries({ http, https })) {
      // Portico has these two on every version of Node (packages/portico/test/websocket-mask.test.mjs).
      const keys = Object.keys(module).filter((key) => key !== 'websocketMask' && key !== 'websocketUnmask');
      for (const key of keys.sort()) log(name, key, typeof module[key], module[key]?.length ?? '');
    }
  },
  both_module_names_are_one: async (log) => {
    log('server', require('http') === http, require('https') === https, http.Server === require('http').Server);
  },
  instances_have_their_classes: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', req instanceof http.IncomingMessage, req instanceof stream.Readable, req instanceof EventEmitter);
      log('server', res instanceof http.ServerResponse, res instanceof http.OutgoingMessage, res instanceof stream.Stream, res instanceof stream.Writable);
      log('server', req.constructor.name, res.constructor.name, Object.prototype.toString.call(req));
      log('server', util.types.isProxy(req), util.types.isProxy(res), res.req === req);
      res.end();
    });
    log('server', server instanceof http.Server, server instanceof net.Server, server instanceof EventEmitter, server.constructor === http.Server);
    await serve(server);
  },
  a_server_without_new: async (log) => {
    const server = http.Server((req, res) => res.end('x'));
    log('server', server instanceof http.Server);
    log('wire', await serve(server));
  },
  a_class_extends_server: async (log) => {
    class Mine extends http.Server {
      constructor(handler) {
        super({ keepAliveTimeout: 1000 }, handler);
        this.mine = true;
      }
    }
    const server = new Mine((req, res) => res.end('x'));
    log('server', server instanceof Mine, server instanceof http.Server, server.mine, server.keepAliveTimeout);
    log('wire', await serve(server));
  },
  util_inherits_from_server: async (log) => {
    function Old(handler) {
      http.Server.call(this, handler);
    }
    util.inherits(Old, http.Server);
    log('wire', await serve(new Old((req, res) => res.end('x'))));
  },
  request_and_response_classes_of_the_user: async (log) => {
    class Request extends http.IncomingMessage {
      get greeting() {
        return `hello ${this.url}`;
      }
    }
    class Response extends http.ServerResponse {
      constructor(...args) {
        super(...args);
        this.made = true;
      }
      send(text) {
        this.setHeader('X-Mine', '1');
        this.end(text);
      }
    }
    const server = http.createServer({ IncomingMessage: Request, ServerResponse: Response }, (req, res) => {
      log('server', req instanceof Request, res instanceof Response, res.made);
      res.send(req.greeting);
    });
    log('wire', await serve(server));
  },
  inherited_request_classes: async (log) => {
    function Request(socket) {
      http.IncomingMessage.call(this, socket);
      this.early = true;
    }
    util.inherits(Request, http.IncomingMessage);
    log('wire', await serve(http.createServer({ IncomingMessage: Request }, (req, res) => res.end(`${req.early} ${req.url}`))));
  },
  prototypes_can_be_set: async (log) => {
    const request = Object.create(http.IncomingMessage.prototype, { extra: { get() { return `extra ${this.headers.host}`; } } });
    const response = Object.create(http.ServerResponse.prototype);
    response.send = function send(text) {
      this.statusCode = 201;
      this.end(text);
    };
    log('wire', await serveOnce(http, (req, res) => {
      Object.setPrototypeOf(req, request);
      Object.setPrototypeOf(res, response);
      res.send(req.extra);
    }));
  },
  patched_methods_are_called: async (log) => {
    const names = ['writeHead', 'write', 'end', 'setHeader'];
    const originals = Object.fromEntries(names.map((name) => [name, http.ServerResponse.prototype[name]]));
    for (const name of names) {
      http.ServerResponse.prototype[name] = function patched(...args) {
        log('server', name, args.length);
        return originals[name].apply(this, args);
      };
    }
    try {
      log('wire', await serveOnce(http, (req, res) => {
        res.setHeader('X-A', '1');
        res.writeHead(200);
        res.write('a');
        res.end('b');
      }));
    } finally {
      for (const name of names) {
        if (name === 'setHeader' || name === 'end' || name === 'write') delete http.ServerResponse.prototype[name];
        http.ServerResponse.prototype[name] = originals[name];
      }
    }
  },
  an_implicit_head_goes_through_a_patched_writeHead: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      const { writeHead } = res;
      res.writeHead = function patched(status, ...rest) {
        log('server', 'writeHead', status, rest.length);
        this.setHeader('X-Late', '1');
        return writeHead.call(this, status, ...rest);
      };
      res.end('x');
    }));
  },
  a_patched_end_on_the_instance: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      const { end, write } = res;
      res.write = (part, ...rest) => write.call(res, String(part).toUpperCase(), ...rest);
      res.end = (part, ...rest) => end.call(res, part && String(part).toUpperCase(), ...rest);
      res.write('a');
      res.end('b');
    }));
  },
  a_patched_emit_sees_requests: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const { emit } = server;
    server.emit = function patched(name, ...args) {
      if (name === 'request') log('server', 'emit', name, args.length);
      return emit.call(this, name, ...args);
    };
    log('wire', await serve(server));
  },
  several_request_listeners: async (log) => {
    const server = http.createServer();
    server.on('request', (req) => log('server', 'one', req.url));
    server.once('request', (req, res) => res.end('two'));
    log('server', server.listenerCount('request'));
    log('wire', await serve(server));
  },
  listeners_can_be_replaced: async (log) => {
    const server = http.createServer((req, res) => res.end('old'));
    const [old] = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (req, res) => (req.url === '/' ? res.end('new') : old(req, res)));
    log('wire', await serve(server), await serve(server, get('/old')));
  },
  no_listener_at_all: async (log) => {
    const server = http.createServer({ requestTimeout: 200, headersTimeout: 200, connectionsCheckingInterval: 50 });
    const port = await listen(server);
    const answer = exchange(port, get());
    await new Promise((resolve) => setTimeout(resolve, 100));
    await close(server);
    log('wire', await answer);
  },
  a_request_can_be_made_by_hand: async (log) => {
    const req = new http.IncomingMessage(new net.Socket());
    req.method = 'GET';
    req.url = '/by-hand';
    const res = new http.ServerResponse(req);
    const parts = [];
    const socket = new stream.Writable({ write: (part, encoding, done) => (parts.push(part.toString()), done()) });
    res.assignSocket(socket);
    res.on('finish', () => log('server', 'finish'));
    res.end('hand made');
    await new Promise((resolve) => setTimeout(resolve, 10));
    log('wire', parts.join('').replace(/^Date: .*\r$/m, 'Date: <date>\r'));
  },
  a_handler_can_be_called_by_emit: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const req = new http.IncomingMessage(new net.Socket());
    req.method = 'GET';
    const res = new http.ServerResponse(req);
    log('server', server.emit('request', req, res), res.writableEnded, res.statusCode);
  },
  a_client_response_is_an_incoming_message: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const port = await listen(server);
    await new Promise((resolve) => {
      http.get({ port, host: '127.0.0.1', agent: false }, (response) => {
        log('client', response instanceof http.IncomingMessage, response.statusCode);
        response.resume().on('end', resolve);
      });
    });
    await close(server);
  },
  spreading_and_listing: async (log) => {
    const server = http.createServer((req, res) => {
      log('server', 'url' in req, 'headers' in req, 'statusCode' in res, Object.hasOwn(req, 'nope'));
      log('server', typeof req.pipe, typeof req[Symbol.asyncIterator], typeof res.cork, typeof req.on, typeof res.writeHead);
      log('server', util.inspect(req.headers).length > 5, typeof util.inspect(req), typeof util.inspect(res), typeof JSON.stringify(req.headers));
      res.end();
    });
    await serve(server);
  },
  own_properties_on_request_and_response: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      req.body = { a: 1 };
      req.url = `/changed${req.url}`;
      req.method = 'PUT';
      req.headers['x-added'] = 'yes';
      res.locals = { b: 2 };
      Object.defineProperty(req, 'query', { value: 'q', configurable: true });
      res.end([req.body.a, req.url, req.method, req.headers['x-added'], res.locals.b, req.query].join());
    }));
  },
  headers_can_be_assigned: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      req.headers = { fresh: 'yes' };
      res.end(JSON.stringify([req.headers, req.rawHeaders.length]));
    }));
  },
  legacy_members: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      const names = ['_header', '_headers', '_headerNames', '_headerSent', '_implicitHeader', '_send', '_storeHeader', '_writeRaw', '_flush',
        '_finish', 'assignSocket', 'detachSocket', '_dump', '_addHeaderLines', '_addHeaderLine', 'destroySoon', '_contentLength',
        '_hasBody', '_trailer', '_removedConnection', '_removedContLen', '_removedTE', '_sent100', '_expect_continue', '_keepAliveTimeout', 'outputData', 'outputSize'];
      log('server', names.map((name) => `${name}: ${typeof res[name]} ${typeof req[name]}`).join('\n'));
      res.end();
    }));
  },
  names_in_messages_and_stacks: async (log) => {
    const linesOf = (action, count) => {
      try {
        return action();
      } catch (error) {
        return error.stack.split('\n').slice(0, count).map((line) => line.replace(/\(?(node:|file:|\/).*/, '')).join('\n');
      }
    };
    for (const options of [{}, { ServerResponse: class Mine extends http.ServerResponse {}, IncomingMessage: class Own extends http.IncomingMessage {} }]) {
      await serveOnce(http, (req, res) => {
        for (const each of [req, res, req.socket]) log('server', linesOf(() => JSON.stringify(each), 3));
        for (const each of [req, res, req.socket]) log('server', util.inspect(each, { depth: -1 }), String(each), util.inspect({ each }, { depth: 0 }));
        log('server', linesOf(() => req.missing(), 1), linesOf(() => res.missing(), 1), req.joinDuplicateHeaders);
        res.end();
        log('server', linesOf(() => res.setHeader('a', 'b'), 2));
        log('server', linesOf(() => res.writeHead(200), 1));
      }, get(), options);
    }
    await serveOnce(http, (req, res) => {
      log('server', req.joinDuplicateHeaders);
      res.end();
    }, get(), { joinDuplicateHeaders: true });
  },
  a_second_handler_module: async (log) => {
    log('server', attempt(() => new http.ServerResponse({ method: 'HEAD' }).hasHeader('x')));
    log('server', attempt(() => new http.OutgoingMessage().end()));
    log('server', http.STATUS_CODES[418], http.METHODS.length > 30, typeof http.globalAgent, typeof http.validateHeaderName);
  },
};
