'use strict';
// Every member of Node's classes on an object of a running server: called as it is found, and as the class that defines it
// has it. What is inherited must work as what is not.

const http = require('node:http');
const net = require('node:net');
const { EventEmitter } = require('node:events');
const { PassThrough, Readable } = require('node:stream');
const { attempt, close, exchange, get, listen, RawClient, serveOnce, waitFor } = require('../lib/scenario-tools.cjs');

/** Names and functions on the prototypes of an object, down to `end`; accessors are left out. */
function methodsOf(object, end) {
  const methods = new Map();
  for (let at = Object.getPrototypeOf(object); at !== null && at !== end; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      const { value } = Object.getOwnPropertyDescriptor(at, name);
      if (name === 'constructor' || typeof value !== 'function') continue;
      const found = methods.get(name) ?? { name, first: value };
      // The last one is that of the class at the root of them.
      methods.set(name, { ...found, last: value });
    }
  }
  return [...methods.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const noop = () => {};
const RESPONSE_ARGUMENTS = {
  writeHead: [201, 'Made', { 'X-Head': '1' }], writeHeader: [201, { 'Content-Length': 4, 'X-Head': '1' }], setHeader: ['X-A', '1'], setHeaders: [new Map([['x-b', '2']])],
  appendHeader: ['X-A', '2'], getHeader: ['x-set'], hasHeader: ['x-set'], removeHeader: ['x-set'], addTrailers: [{ 'X-T': '1' }], write: ['part', noop], end: ['whole', noop],
  setTimeout: [1000, noop], _storeHeader: ['HTTP/1.1 202 Stored\r\n', { 'X-Stored': '1' }], writeInformation: [103, { 'X-I': '1' }], writeEarlyHints: [{ link: '</a>; rel=preload' }],
  on: ['x', noop], once: ['x', noop], addListener: ['x', noop], prependListener: ['x', noop], prependOnceListener: ['x', noop], emit: ['x'], listeners: ['x'], rawListeners: ['x'],
  off: ['x', noop], removeListener: ['x', noop], removeAllListeners: ['x'], listenerCount: ['x'], setMaxListeners: [5], _send: [''], _writeRaw: ['HTTP/1.1 102 Raw\r\n\r\n'],
};
// Behind the head, Node's older versions put what they write into the body.
const BEFORE_THE_HEAD = new Set(['writeInformation', 'writeContinue', 'writeProcessing', 'writeEarlyHints', '_writeRaw', '_storeHeader']);
// What the others end in, and what only concerns the socket: only as it is found on the response.
const BELOW = new Set(['_send', '_storeHeader', '_writeRaw', '_flush', 'cork', 'uncork']);
// They take the socket itself: there is a scenario for each below. Node's own listeners are among the names of events.
const LEFT_OUT = new Set(['_onPendingData', 'eventNames', 'assignSocket', 'detachSocket', '_flushOutput']);

/** Calls one method of a response before, between and after what a handler does, and shows what the client gets. */
async function callOnResponse(log, name, pick) {
  for (const [when, before] of Object.entries({
    fresh: () => {},
    set: (res) => res.setHeader('X-Set', 'yes'),
    headed: (res) => res.writeHead(200, { 'Content-Length': 4 }),
    written: (res) => res.write('some'),
    ended: (res) => res.end('gone'),
  })) {
    if ((when === 'written' || when === 'ended') && BEFORE_THE_HEAD.has(name)) continue;
    log(`${name} ${when} wire`, await serveOnce(http, (req, res) => {
      before(res);
      // Once more than it was corked is a fault of the program, and of the wire.
      if (name === 'uncork') res.cork();
      res.on('error', (error) => log(`${name} ${when}`, error));
      for (const event of ['prefinish', 'finish', 'close']) EventEmitter.prototype.on.call(res, event, () => log(`${name} ${when}`, event, res.writableFinished));
      const method = methodsOf(res, null).find((each) => each.name === name)[pick];
      const result = attempt(() => {
        const value = method.apply(res, RESPONSE_ARGUMENTS[name] ?? []);
        return value === res ? 'itself' : typeof value === 'object' ? JSON.stringify(value) : value;
      });
      log(`${name} ${when}`, result, res.headersSent, res.writableEnded, res.statusCode, pick === 'first' ? res.writableCorked : '');
      setImmediate(() => {
        while (res.writableCorked > 0) res.uncork();
        if (!res.writableEnded && !res.destroyed) res.end('tail');
      });
    }));
  }
}

const responseNames = methodsOf(new http.ServerResponse({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 }), Object.prototype)
  .map(({ name }) => name).filter((name) => !LEFT_OUT.has(name));

/** A handler in which each output method is that of the class at the root, as some code takes it from there. */
const ROOT_ANSWERS = {
  ended: (call) => call('end', 'whole'),
  empty: (call) => call('end'),
  headed: (call) => (call('writeHead', 200, { 'Content-Length': 5, 'X-A': '1' }), call('end', 'whole')),
  announced: (call) => (call('setHeader', 'Content-Length', 5), call('write', 'who'), call('end', 'le')),
  chunked: (call) => (call('write', 'who'), call('write', Buffer.from('le')), call('end')),
  'chunked and ended': (call) => (call('write', 'who'), call('end', 'le', () => {})),
  corked: (call) => (call('cork'), call('write', 'a'), call('write', 'b'), call('uncork'), call('end', 'c')),
  flushed: (call) => (call('flushHeaders'), call('write', 'a'), call('end')),
  'flushed with a length': (call) => (call('setHeader', 'Content-Length', 2), call('flushHeaders'), call('write', 'ab'), setTimeout(() => call('end'), 5)),
  trailers: (call) => (call('setHeader', 'Trailer', 'X-T'), call('write', 'a'), call('addTrailers', { 'X-T': '1' }), call('end')),
  late: (call) => setTimeout(() => (call('write', 'a'), setTimeout(() => call('end', 'b'), 5)), 5),
  'in base64': (call) => (call('write', 'YWI=', 'base64'), call('end', 'Y2Q=', 'base64')),
  large: (call) => (call('write', 'x'.repeat(100_000)), call('end', 'y'.repeat(100_000))),
  nothing: (call) => (call('writeHead', 204), call('end')),
};

async function answerByRoot(log, mixed) {
  for (const [name, answer] of Object.entries(ROOT_ANSWERS)) {
    // Where chunks begin is each one's own matter.
    if (mixed && name === 'corked') continue;
    for (const request of [get(`/${name}`), get().replace('GET', 'HEAD'), get().replace('HTTP/1.1', 'HTTP/1.0')]) {
      let calls = 0;
      log(`wire ${name}`, (await serveOnce(http, (req, res) => {
        for (const event of ['finish', 'close']) res.on(event, () => log(`res ${name}`, event, res.writableFinished));
        log(`res ${name}`, attempt(() => typeof answer((method, ...args) => {
          const { first, last } = methodsOf(res, null).find((each) => each.name === method);
          return (mixed && calls++ % 2 === 0 ? first : last).apply(res, args);
        })));
        if (!res.headersSent && name !== 'late') res.destroy();
      }, request)).replace(/([xy])\1{99,}/g, (run) => `(${run.length} ${run[0]})`).replace(/\r\n\r\n(?=[^]*\()[^]*/, (body) => body.replaceAll(/[0-9a-f]+\r\n|\r\n/g, '')));
    }
  }
}

const REQUEST_ARGUMENTS = {
  on: ['x', noop], once: ['x', noop], addListener: ['x', noop], prependListener: ['x', noop], prependOnceListener: ['x', noop], emit: ['x'], listeners: ['x'], rawListeners: ['x'],
  off: ['x', noop], removeListener: ['x', noop], removeAllListeners: ['x'], listenerCount: ['x'], setMaxListeners: [5], setTimeout: [1000, noop], setEncoding: ['utf8'], read: [],
  push: ['pushed'], unshift: ['early'], map: [(x) => x], filter: [() => true], forEach: [noop], some: [() => true], every: [() => true], find: [() => true], flatMap: [(x) => [x]],
  reduce: [(a) => a, 0], take: [1], drop: [1], _addHeaderLine: ['X-Added', '1', {}], _addHeaderLineDistinct: ['X-Added', '1', {}], _addHeaderLines: [['X-More', '1'], 2],
  _undestroy: [], destroy: [], compose: [async function* pass(source) { yield* source; }], pipe: [],
};

async function callOnRequest(log, name) {
  for (const [kind, request] of Object.entries({ GET: get('/x', 'X-A: 1'), POST: 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello' })) {
    log(`${name} ${kind} wire`, await serveOnce(http, (req, res) => {
      req.on('error', (error) => log(`${name} ${kind}`, error));
      const result = attempt(() => {
        const value = req[name](...(name === 'pipe' ? [new PassThrough()] : REQUEST_ARGUMENTS[name] ?? []));
        if (typeof value?.then === 'function') value.then(noop, noop);
        return value === req ? 'itself' : value === null || typeof value !== 'object' ? String(value) : value.constructor?.name;
      });
      log(`${name} ${kind}`, result, req.complete, req.destroyed, req.readableFlowing);
      setImmediate(() => {
        if (!res.destroyed) res.end('done');
      });
    }, request));
  }
}

const requestNames = methodsOf(new http.IncomingMessage(null), EventEmitter.prototype)
  // Iterators and promises of streams tell nothing that a call could show.
  .map(({ name }) => name).filter((name) => !['constructor', 'iterator', 'asIndexedPairs', 'toArray', 'wrap', 'compose', '_destroy', '_undestroy'].includes(name));

const serverMembers = ['timeout', 'keepAliveTimeout', 'headersTimeout', 'requestTimeout', 'maxHeadersCount', 'maxRequestsPerSocket', 'listening', '_connections', '_handle', 'maxConnections',
  'allowHalfOpen', 'pauseOnConnect', 'noDelay', 'keepAlive', 'keepAliveInitialDelay', 'httpAllowHalfOpen', '_usingWorkers', '_workers', '_unref', 'highWaterMark', 'insecureHTTPParser',
  'connectionsCheckingInterval', 'requireHostHeader', 'joinDuplicateHeaders', 'rejectNonStandardBodyWrites', '_connectionKey', '_pipeName'];

module.exports = {
  of_a_response: async (log) => {
    for (const name of responseNames) await callOnResponse(log, name, 'first');
  },
  of_a_response_by_the_root_class: async (log) => {
    for (const name of responseNames.filter((each) => !BELOW.has(each))) await callOnResponse(log, name, 'last');
  },
  answers_by_the_root_class: (log) => answerByRoot(log, false),
  answers_by_both: (log) => answerByRoot(log, true),
  of_a_request: async (log) => {
    for (const name of requestNames) await callOnRequest(log, name);
  },
  of_a_server: async (log) => {
    const server = http.createServer((req, res) => res.end('x'));
    const view = () => serverMembers.map((name) => `${name} ${typeof server[name] === 'object' && server[name] !== null ? 'object' : server[name]}`.replace(/:\d{4,}/, ''));
    log('server', view());
    const port = await listen(server);
    log('server', view());
    log('server', server.ref() === server, server.unref() === server, server.ref() === server, server.setTimeout(1000) === server, server.timeout);
    log('server', attempt(() => server.address().family), attempt(() => server.listen(0)), server.eventNames().map(String).sort());
    server.getConnections((error, count) => log('server', error, count));
    log('server', attempt(() => server.getConnections.call(server, noop) === server));
    log('wire', await exchange(port, get()));
    await new Promise((resolve) => server.close(resolve));
    log('server', view().filter((line) => !line.startsWith('_connectionKey')));
  },
  of_a_socket: async (log) => {
    const names = ['address', 'getTypeOfService', 'setNoDelay', 'setKeepAlive', 'setTimeout', 'ref', 'unref', 'cork', 'uncork', 'listenerCount', 'isPaused', 'pause', 'resume',
      '_getpeername', '_getsockname', '_onTimeout', '_unrefTimer', 'setDefaultEncoding', 'setMaxListeners', 'getMaxListeners'];
    const properties = ['remoteAddress', 'remoteFamily', 'localAddress', 'localFamily', 'readyState', 'connecting', 'pending', 'bufferSize', 'destroyed', 'readable', 'writable', 'timeout',
      'allowHalfOpen', 'encrypted', 'readableFlowing', 'writableLength', 'writableNeedDrain', 'readableLength', 'autoSelectFamilyAttemptedAddresses', 'closed', 'errored', 'readableEnded', 'writableEnded'];
    const server = http.createServer((req, res) => {
      const { socket } = req;
      for (const name of names) {
        if (typeof socket[name] !== 'function') continue;
        log('socket', name, attempt(() => {
          const value = socket[name](...(name === 'setDefaultEncoding' ? ['utf8'] : name === 'listenerCount' ? ['data'] : name.startsWith('setMax') ? [20] : []));
          return value === socket ? 'itself' : JSON.stringify(value)?.replace(/\d{4,5}/g, 'N');
        }));
      }
      for (const name of properties) log('socket', name, socket[name]);
      log('socket', typeof socket.bytesRead, socket.remotePort > 0, socket.localPort === server.address().port, socket instanceof net.Socket);
      res.end('x');
    });
    const client = new RawClient(await listen(server));
    client.write(get());
    log('wire', await client.all());
    await close(server);
  },
  a_socket_that_is_detached_and_assigned: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      const { socket } = res;
      res.detachSocket(socket);
      log('res', res.socket === null, attempt(() => res.detachSocket(socket)));
      res.assignSocket(socket);
      log('res', res.socket === socket, attempt(() => res.assignSocket(socket)));
      res.end('x');
    }));
  },
  _flushOutput_has_nothing_to_do: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      log('res', attempt(() => res._flushOutput(res.socket)));
      res.end('x');
    }));
  },
  a_stream_that_is_piped_by_its_own_prototype: async (log) => {
    log('wire', await serveOnce(http, (req, res) => {
      Readable.prototype.pipe.call(Readable.from(['a', 'b']), res);
      res.on('pipe', () => log('res', 'pipe')).on('finish', () => log('res', 'finish'));
    }));
    await waitFor(() => true);
  },
};
