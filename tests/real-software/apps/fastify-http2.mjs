// Fastify with `http2: true`: routes, streams both ways, errors.

import { Readable } from 'node:stream';
import Fastify from 'fastify';

const fastify = Fastify({ http2: true, logger: false });
fastify.addContentTypeParser('application/octet-stream', (request, payload, done) => done(null, payload));
fastify.get('/', async (request) => ({ hello: 'world', version: request.raw.httpVersion }));
fastify.get('/stream', (request, reply) => {
  reply.type('text/plain').send(Readable.from(['one ', 'two ', 'three']));
});
fastify.post('/length', async (request) => {
  let length = 0;
  for await (const part of request.body) length += part.length;
  return { length };
});
fastify.post('/echo', (request, reply) => reply.type('application/octet-stream').send(request.body));
fastify.get('/throws', async () => {
  throw Object.assign(new Error('teapot'), { statusCode: 418 });
});
await fastify.listen({ port: 0, host: '127.0.0.1' });
console.log(`listening on ${fastify.server.address().port}`);
