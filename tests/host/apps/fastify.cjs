'use strict';
// Fastify has no word for a URL prefix: node fastify.cjs PREFIX

const app = require('fastify')();

app.get('/name', async () => 'fastify');
app.listen({ path: process.argv[2] }).then(() => console.log('listening'), (error) => console.log(`error ${error.code} ${error.message}`));
