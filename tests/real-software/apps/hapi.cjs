'use strict';
// hapi as its tutorials write it: routes, validation of paths, streams, state, extensions, errors.

const { Readable } = require('node:stream');
const Hapi = require('@hapi/hapi');

async function init() {
  const server = Hapi.server({ port: process.env.PORT, host: '127.0.0.1' });
  server.state('session', { isSecure: false, isHttpOnly: true, encoding: 'base64json' });
  server.ext('onPreResponse', (request, h) => {
    if (!request.response.isBoom) request.response.header('x-ext', 'yes');
    return h.continue;
  });
  server.route([
    { method: 'GET', path: '/', handler: () => 'Hello World!' },
    { method: 'GET', path: '/hello/{user?}', handler: (request) => ({ user: request.params.user ?? 'none', from: request.info.remoteAddress }) },
    { method: 'POST', path: '/echo', handler: (request, h) => h.response(request.payload).code(201) },
    { method: 'GET', path: '/stream', handler: (request, h) => h.response(Readable.from([Buffer.from('one '), Buffer.from('two')], { objectMode: false })).type('text/plain') },
    { method: 'POST', path: '/upload', options: { payload: { output: 'stream', parse: false, maxBytes: 10 << 20 } }, handler: async (request) => {
      let length = 0;
      for await (const part of request.payload) length += part.length;
      return { length };
    } },
    { method: 'GET', path: '/state', handler: (request, h) => h.response(request.state.session ?? 'none').state('session', { a: 1 }) },
    { method: 'GET', path: '/throws', handler: () => {
      throw new Error('hidden');
    } },
    { method: '*', path: '/{any*}', handler: (request, h) => h.response('not here').code(404) },
  ]);
  await server.start();
  console.log(`listening on ${server.info.port}`);
  process.once('SIGINT', async () => {
    await server.stop({ timeout: 2000 });
    console.log('closed');
    process.exit(0);
  });
}

init();
