'use strict';
// AsyncLocalStorage, async_hooks and diagnostics_channel around requests.

const { AsyncLocalStorage, AsyncResource, executionAsyncId, executionAsyncResource, triggerAsyncId } = require('node:async_hooks');
const channels = require('node:diagnostics_channel');
const http = require('node:http');
const { exchange, get, post, listen, close } = require('../lib/scenario-tools.cjs');

const pipelined = [1, 2, 3].map((number) => `GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`).join('') + get('/4');

async function serve(handler, request, setUp = () => {}) {
  const server = http.createServer(handler);
  setUp(server);
  const text = await exchange(await listen(server), request);
  await new Promise((resolve) => setTimeout(resolve, 30));
  await close(server);
  return text;
}

module.exports = {
  a_store_follows_everything_of_its_request: async (log) => {
    const storage = new AsyncLocalStorage();
    await serve((req, res) => {
      storage.run(req.url, () => {
        const note = (what) => () => log(req.url, what, storage.getStore());
        process.nextTick(note('tick'));
        Promise.resolve().then(note('microtask'));
        setImmediate(note('immediate'));
        req.on('end', note('req end'));
        req.on('close', note('req close'));
        res.on('finish', note('finish'));
        res.on('close', note('res close'));
        req.resume();
        // One after the other: which of two timers comes first is not promised on a busy machine.
        setTimeout(() => {
          note('timer')();
          setTimeout(() => res.end('x', note('end callback')), 5);
        }, 5);
      });
    }, pipelined);
  },
  enterWith_does_not_leak_into_the_next_request: async (log) => {
    const storage = new AsyncLocalStorage();
    await serve((req, res) => {
      log('server', req.url, 'before', storage.getStore() ?? 'empty');
      storage.enterWith(req.url);
      Promise.resolve().then(() => {
        log(req.url, 'after', storage.getStore());
        res.end('x');
      });
    }, pipelined);
  },
  body_events_have_the_context_of_their_listener_or_of_the_connection: async (log) => {
    const storage = new AsyncLocalStorage();
    await serve(async (req, res) => {
      storage.enterWith('mine');
      req.on('data', () => log('server', 'data', storage.getStore() ?? 'empty'));
      req.on('end', () => {
        log('server', 'end', storage.getStore() ?? 'empty');
        res.end();
      });
    }, post('hello'));
  },
  awaiting_keeps_the_store: async (log) => {
    const storage = new AsyncLocalStorage();
    await serve((req, res) => storage.run({ url: req.url }, async () => {
      let length = 0;
      for await (const part of req) length += part.length;
      await new Promise((resolve) => setImmediate(resolve));
      log('server', storage.getStore().url, length);
      res.end();
    }), post('hello'));
  },
  each_request_has_an_execution_id: async (log) => {
    const ids = new Set();
    await serve((req, res) => {
      ids.add(executionAsyncId());
      log('server', executionAsyncId() > 1, typeof executionAsyncResource(), triggerAsyncId() >= 0);
      res.end();
    }, pipelined);
    log('server', ids.size >= 1);
  },
  resources_made_in_a_handler_are_bound: async (log) => {
    const storage = new AsyncLocalStorage();
    await serve((req, res) => {
      storage.run('bound', () => {
        const bound = AsyncResource.bind(() => log('server', storage.getStore()));
        storage.exit(() => setTimeout(() => {
          log('server', storage.getStore() ?? 'empty');
          bound();
          res.end();
        }, 5));
      });
    }, get());
  },
  diagnostics_channels_of_a_server: async (log) => {
    const names = ['http.server.request.start', 'http.server.response.created', 'http.server.response.finish'];
    const listeners = names.map((name) => [name, (message) => {
      log('server', name, Object.keys(message).sort(), message.request?.url, message.response?.statusCode,
        message.server instanceof http.Server, message.socket === message.request?.socket);
    }]);
    for (const [name, listener] of listeners) channels.subscribe(name, listener);
    await serve((req, res) => {
      log('server', 'handler', req.url);
      res.end(req.url);
    }, pipelined);
    for (const [name, listener] of listeners) channels.unsubscribe(name, listener);
  },
  a_start_listener_can_bind_a_store: async (log) => {
    const storage = new AsyncLocalStorage();
    const start = channels.channel('http.server.request.start');
    start.bindStore?.(storage, (message) => `store of ${message.request.url}`);
    const listener = ({ request }) => storage.enterWith(`entered ${request.url}`);
    channels.subscribe('http.server.request.start', listener);
    await serve((req, res) => {
      log('server', storage.getStore() ?? 'empty');
      setTimeout(() => {
        log('server', storage.getStore() ?? 'empty');
        res.end();
      }, 5);
    }, get('/bound'));
    channels.unsubscribe('http.server.request.start', listener);
    start.unbindStore?.(storage);
  },
  performance_entries_of_requests: async (log) => {
    const { PerformanceObserver } = require('node:perf_hooks');
    const seen = [];
    const observer = new PerformanceObserver((list) => seen.push(...list.getEntries().filter((entry) => entry.name === 'HttpRequest')));
    observer.observe({ entryTypes: ['http'] });
    await serve((req, res) => setTimeout(() => res.end('x'), 5), get('/measured'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    observer.disconnect();
    for (const entry of seen) log('server', entry.entryType, entry.duration > 0, Object.keys(entry.detail).sort(), entry.detail.req.url, entry.detail.res.statusCode);
  },
};
