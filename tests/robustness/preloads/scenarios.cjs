'use strict';
// Run behind `wrappers.cjs`: what the client gets, and which wrappers were called for it.

const http = require('node:http');
const https = require('node:https');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const { exchange, get, listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const HANDLERS = {
  '/end': (req, res) => res.end('whole'),
  '/empty': (req, res) => res.end(),
  '/head': (req, res) => res.writeHead(201, { 'X-A': '1', 'Content-Length': 5 }).end('whole'),
  '/list': (req, res) => res.writeHead(200, 'Fine', ['X-A', '1', 'X-A', '2']).end('whole'),
  '/set': (req, res) => {
    res.setHeader('X-A', '1');
    res.appendHeader('X-A', '2');
    res.removeHeader('Date');
    res.end(`${res.getHeader('x-a')} ${res.hasHeader('x-b')}`);
  },
  '/write': (req, res) => {
    res.write('a');
    res.write(Buffer.from('b'));
    res.end('c');
  },
  '/corked': (req, res) => {
    res.cork();
    res.write('a');
    res.write('b');
    res.uncork();
    res.end();
  },
  '/flush': (req, res) => {
    res.flushHeaders();
    setTimeout(() => res.end('later'), 2);
  },
  '/callback': (req, res) => res.end('whole', () => res.app.note('called back')),
  '/trailers': (req, res) => {
    res.write('a');
    res.addTrailers({ 'X-T': '1' });
    res.end();
  },
  '/none': (req, res) => res.writeHead(204).end(),
  '/body': async (req, res) => {
    let bytes = 0;
    for await (const part of req) bytes += part.length;
    res.end(String(bytes));
  },
  '/large': (req, res) => {
    res.on('drain', () => res.end('z'));
    if (res.write('x'.repeat(3_000_000))) res.end('z');
  },
  '/destroy': (req, res) => {
    res.write('begun');
    res.destroy();
  },
};

/** Only how often each was called: different objects' events may come in any order. */
const calls = () => globalThis.callsOfWrappers.splice(0).sort();

function handler(log) {
  return (req, res) => {
    res.app = { note: (...what) => log(`res ${req.url}`, ...what) };
    res.on('finish', () => log(`res ${req.url}`, 'finish', res.writableFinished)).on('close', () => log(`res ${req.url}`, 'close'));
    HANDLERS[req.url](req, res);
  };
}

module.exports = {
  each_answer: async (log) => {
    const server = http.createServer(handler(log));
    log('server', server instanceof http.Server, server.constructor === http.Server, server.keepAliveTimeout, server.listenerCount('request'));
    const port = await listen(server);
    log('calls', calls());
    for (const path of Object.keys(HANDLERS)) {
      const request = path === '/body' ? `POST /body HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello` : get(path);
      log(`wire ${path}`, (await exchange(port, request)).replace(/x{1000,}/g, (run) => `(${run.length})`));
      log('calls', path, calls());
    }
    await close(server);
    log('calls', calls());
  },
  requests_behind_each_other: async (log) => {
    const server = http.createServer(handler(log));
    const client = new RawClient(await listen(server));
    for (const path of ['/end', '/write', '/flush', '/set', '/none']) {
      client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    }
    client.write(get('/head'));
    log('wire', await client.all());
    log('calls', calls());
    await close(server);
  },
  options_and_classes: async (log) => {
    class Request extends http.IncomingMessage {}
    class Response extends http.ServerResponse {}
    const server = http.createServer({ IncomingMessage: Request, ServerResponse: Response, keepAliveTimeout: 7000 }, (req, res) => {
      log('server', req instanceof Request, res instanceof Response, server.keepAliveTimeout);
      res.end('x');
    });
    log('wire', await exchange(await listen(server), get()));
    await close(server);
  },
  over_tls: async (log) => {
    const { HTTPS_KEY, HTTPS_CERT } = process.env;
    const server = https.createServer({ key: readFileSync(HTTPS_KEY), cert: readFileSync(HTTPS_CERT) }, handler(log));
    const port = await listen(server);
    calls();
    for (const path of ['/end', '/write']) {
      const [response] = await once(https.get({ port, path, rejectUnauthorized: false, agent: false }), 'response');
      let text = '';
      for await (const part of response) text += part;
      log('wire', response.statusCode, text);
    }
    log('calls', calls());
    await close(server);
  },
};
