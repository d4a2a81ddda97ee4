'use strict';
// Metrics as prom-client's users take them: a histogram of durations by method, route and status, at 'finish'.

const express = require('express');
const http = require('node:http');
const client = require('prom-client');

client.collectDefaultMetrics();
const durations = new client.Histogram({ name: 'http_seconds', help: 'Duration of requests', labelNames: ['method', 'route', 'status'] });

const app = express();
app.use((request, response, next) => {
  const end = durations.startTimer();
  response.once('finish', () => end({ method: request.method, route: request.route?.path ?? '', status: response.statusCode }));
  next();
});
app.get('/hello', (request, response) => response.send('hello'));
app.get('/metrics', async (request, response) => response.type(client.register.contentType).send(await client.register.metrics()));

const server = http.createServer(app).listen(process.env.PORT, () => console.log(`listening on ${server.address().port}`));
