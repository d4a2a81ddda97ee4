'use strict';
// An Express application that agents observe. What an agent saw of each request is printed by its file beside this one.

if (process.env.AGENT) require(process.env.AGENT); // the agent as the program's first line
const express = require('express') // under its own name: agents go by it;
const http = require('node:http');

const app = express();
app.use(express.json());
app.get('/hello/:name', (request, response) => response.send(`hello ${request.params.name}`));
app.post('/items', (request, response) => response.status(201).json(request.body));
app.get('/boom', () => {
  throw new Error('boom');
});
app.get('/left/:name', (request, response) => {
  response.write('the client leaves now');
  request.once('close', () => response.end());
});
app.use((error, request, response, next) => {
  if (response.headersSent) next(error);
  else response.status(500).end('failed');
});

const server = http.createServer(app).listen(process.env.PORT, '127.0.0.1', () => {
  console.log(`listening on ${server.address().port}`);
});
