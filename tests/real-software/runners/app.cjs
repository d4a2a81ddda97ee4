'use strict';
// The application under test of the test runners: as their users write it, without a server of its own.

const express = require('express');
const http = require('node:http');

const app = express();
app.use(express.json());
app.get('/user', (request, response) => response.json({ name: 'ada' }));
app.post('/user', (request, response) => response.status(201).json(request.body));
app.get('/slow', (request, response) => setTimeout(() => response.end('slow'), 20));
app.get('/boom', () => {
  throw new Error('boom');
});

module.exports = { app, http };
