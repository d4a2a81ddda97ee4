'use strict';
// Which names the objects have, what is listed of them, and what a program that assigns to them reads back.

const http = require('node:http');
const util = require('node:util');
const { get, listen, exchange, close, serveOnce } = require('../lib/scenario-tools.cjs');

// Documented, and on an object of Node's only once the program has assigned them.
const ASSIGNED_BY_PROGRAMS = new Set(['maxConnections']);

// An accessor of our responses that node:http lacks: what docs/cache.md documents. It is not enumerable, and no other is allowed.
const OURS = new Set(['cacheDuration']);

/** Names on an object and its prototypes. */
function namesOf(object) {
  const names = new Set();
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (!ASSIGNED_BY_PROGRAMS.has(name) && !(object instanceof http.ServerResponse && OURS.has(name))) names.add(name);
    }
  }
  return [...names].sort();
}

/** What `for ... in` lists. */
function listed(object) {
  const names = [];
  for (const name in object) names.push(name);
  return names.sort();
}

/** Assigns values to a property, each on a request of its own, and says what is read back. */
async function readBack(log, which, name, values) {
  const server = http.createServer((req, res) => {
    const value = values[Number(req.headers['x-index'])];
    const object = which === 'req' ? req : res;
    object[name] = value;
    log(name, String(value), object[name] === value);
    if (which === 'req') res.end();
    else res.socket.destroy();
  });
  const port = await listen(server);
  for (const index of values.keys()) await exchange(port, get('/path', `X-Index: ${index}`));
  await close(server);
}

const VALUES = [undefined, null, 0, '', 'text', { of: 'its own' }];

module.exports = {
  names_of_all_objects: async (log) => {
    const server = http.createServer((req, res) => {
      for (const [actor, object] of Object.entries({ req, res, socket: req.socket, server })) {
        log(actor, namesOf(object));
        log(actor, listed(object));
      }
      res.end();
    });
    await exchange(await listen(server), get());
    await close(server);
  },
  names_of_classes: async (log) => {
    for (const name of ['Server', 'ServerResponse', 'IncomingMessage']) log(name, namesOf(http[name]));
  },
  assigned_to_a_request: async (log) => {
    for (const name of ['url', 'method', 'headers', 'rawHeaders', 'headersDistinct', 'trailers', 'trailersDistinct', 'rawTrailers', 'httpVersion', 'httpVersionMajor',
      'httpVersionMinor', 'statusCode', 'statusMessage', 'upgrade', 'aborted', 'complete', 'client', 'joinDuplicateHeaders', 'body', 'exchange', 'lane']) {
      await readBack(log, 'req', name, VALUES);
    }
  },
  assigned_to_a_response: async (log) => {
    for (const name of ['statusCode', 'statusMessage', 'sendDate', 'shouldKeepAlive', 'chunkedEncoding', 'useChunkedEncodingByDefault', 'strictContentLength',
      'maxRequestsOnConnectionReached', 'locals', 'exchange', 'lane', 'head', 'fields', 'req', 'finished', '_hasBody', '_last', '_trailer']) {
      await readBack(log, 'res', name, VALUES);
    }
  },
  urls_as_routers_assign_them: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      const { url } = req;
      const seen = [];
      for (const next of ['/mounted', undefined, null, '', url]) {
        req.url = next;
        seen.push(req.url);
      }
      res.end(JSON.stringify(seen));
    }, get('/first?x=1')));
  },
  header_objects_that_were_cleared_are_made_again: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      for (const name of ['headers', 'headersDistinct', 'trailers', 'trailersDistinct']) {
        const first = req[name];
        log(name, first === req[name]);
        for (const value of [null, undefined, 0, { own: '1' }, null]) {
          req[name] = value;
          log(name, req[name]);
        }
      }
      res.end();
    }, get('/', 'X-A: 1', 'X-A: 2')));
  },
  trailers_that_were_read_too_early: async (log) => {
    const server = http.createServer((req, res) => {
      const { trailers, trailersDistinct, rawTrailers } = req;
      req.resume().on('end', () => {
        log('req', trailers === req.trailers, trailersDistinct === req.trailersDistinct, trailers, trailersDistinct, rawTrailers, req.rawTrailers);
        res.end();
      });
    });
    const chunks = ['5', 'hello', '0', 'X-Sum: 1', 'x-sum: 2', '', ''].join('\r\n');
    log('wire', await exchange(await listen(server), `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`));
    await close(server);
  },
  a_response_of_two_worlds: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      res.exchange = { rate: 1.1 };
      req.connection.exchange = 'x';
      res.write('a');
      res.end(JSON.stringify(res.exchange));
    }));
  },
  printed: async (log) => {
    await serveOnce(http, (req, res) => {
      req.mine = res.mine = { inner: true };
      res.setHeader('X-A', '1');
      for (const depth of [0, 2, null]) {
        const text = util.inspect(req, { depth });
        log('req', /^(<ref \*\d> )?IncomingMessage \{/.test(text), /\n {2}url: '\/printed'/.test(text), /\n {2}method: 'GET'/.test(text), /rawHeaders: \[/.test(text), /mine: /.test(text));
        log('res', /^(<ref \*\d> )?ServerResponse \{/.test(util.inspect(res, { depth })), /\n {2}finished: false/.test(util.inspect(res, { depth })));
      }
      log('req', util.inspect([{ req }], { depth: 1 }).includes('IncomingMessage'), util.inspect({ a: { b: { req } } }, { depth: 2 }).includes('[IncomingMessage]'));
      log('req', util.inspect(new http.IncomingMessage(null)).startsWith('IncomingMessage {'));
      res.end();
    }, get('/printed'));
  },
  a_class_that_prints_itself: async (log) => {
    class Mine extends http.IncomingMessage {
      [util.inspect.custom]() {
        return `<${this.method} ${this.url}>`;
      }
    }
    await serveOnce(http, (req, res) => {
      log('req', util.inspect(req), util.format('%o', req).length > 0);
      res.end();
    }, get('/mine'), { IncomingMessage: Mine });
  },
  the_names_of_events_before_and_after_a_listener: async (log) => {
    await serveOnce(http, (req, res) => {
      // A 'finish' of Node's own is there on a response of Node's.
      for (const [who, emitter] of [['req', req], ['res', res]]) {
        log(who, emitter.eventNames().filter((name) => name !== 'finish').join());
        emitter.on('custom', () => undefined);
        log(who, emitter.eventNames().filter((name) => name !== 'finish').join());
        emitter.removeAllListeners('custom');
        log(who, emitter.eventNames().includes('custom'));
      }
      res.end();
    }, get('/events'));
  },
  rejections_are_captured_once_that_is_switched_on: async (log) => {
    const events = require('node:events');
    events.captureRejections = true;
    try {
      await serveOnce(http, (req, res) => {
        req.socket.on('error', (error) => {
          log('socket', error.message);
        });
        req.on('error', () => undefined);
        res.on('custom', async () => {
          throw new Error('from a listener');
        });
        res.emit('custom');
      }, get('/rejects'));
    } finally {
      events.captureRejections = false;
    }
  },
};
