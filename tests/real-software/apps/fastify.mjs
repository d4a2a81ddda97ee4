// Fastify as its guide writes it: schemas, hooks, plugins, streams, async handlers.

import { Readable } from 'node:stream';
import Fastify from 'fastify';

const fastify = Fastify({ logger: false, keepAliveTimeout: 10_000 });

fastify.addHook('onRequest', async (request) => {
  request.startedBy = 'hook';
});
fastify.addHook('onSend', async (request, reply, payload) => {
  reply.header('x-hook', request.startedBy);
  return payload;
});
fastify.get('/', async () => ({ hello: 'world' }));
fastify.get('/user/:id', {
  schema: {
    params: { type: 'object', properties: { id: { type: 'integer' } } },
    response: { 200: { type: 'object', properties: { id: { type: 'integer' }, protocol: { type: 'string' }, ip: { type: 'string' } } } },
  },
}, async (request) => ({ id: request.params.id, protocol: request.protocol, ip: request.ip, dropped: true }));
fastify.post('/echo', {
  schema: { body: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } },
}, async (request, reply) => reply.code(201).send(request.body));
fastify.get('/stream', (request, reply) => {
  reply.type('text/plain').send(Readable.from(['one ', 'two ', 'three']));
});
fastify.get('/buffer', (request, reply) => reply.send(Buffer.from('bytes')));
fastify.get('/cookies', (request, reply) => reply.header('set-cookie', ['a=1', 'b=2']).send(''));
fastify.get('/trailer', (request, reply) => reply.trailer('x-sum', async () => 'sum').send('data'));
fastify.get('/hijack', (request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/plain' });
  reply.raw.end('raw');
});
fastify.get('/throws', async () => {
  throw Object.assign(new Error('teapot'), { statusCode: 418 });
});
fastify.register(async (scope) => {
  scope.addContentTypeParser('text/csv', { parseAs: 'string' }, (request, body, done) => done(null, body.split(',')));
  scope.post('/csv', async (request) => request.body);
}, { prefix: '/scope' });

await fastify.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
console.log(`listening on ${fastify.server.address().port}`);
process.once('SIGINT', async () => {
  await fastify.close();
  console.log('closed');
  process.exit(0);
});
