// The JSON API, and the water level as server-sent events.

import express from 'express';
import { boats, boatBySlug } from './boats.mjs';
import { bookings, book, validate } from './bookings.mjs';
import { tideTable, waterLevel } from './tides.mjs';

const LEVEL_EVERY_MS = 2000;
const streams = new Set();

/** Ends the event streams, which would go on for as long as a visitor watches. */
export function endStreams() {
  for (const response of streams) response.end();
}

export const api = express.Router();

api.use(express.json({ limit: '16kb' }));

api.get('/boats', (_request, response) => {
  response.json(boats);
});

api.get('/boats/:slug', (request, response) => {
  const boat = boatBySlug(request.params.slug);
  if (boat === undefined) response.status(404).json({ error: 'There is no such boat.' });
  else response.json(boat);
});

api.get('/bookings', (_request, response) => {
  // Other visitors do not see names.
  response.json(bookings().map(({ boat, day, crew }) => ({ boat, day, crew })));
});

api.post('/bookings', (request, response) => {
  const { errors, booking } = validate(request.body ?? {});
  if (booking === undefined) response.status(422).json({ errors });
  else response.status(201).json(book(booking));
});

api.get('/tides', (_request, response) => {
  response.json(tideTable(new Date()));
});

api.get('/level', (_request, response) => {
  response.set({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = () => response.write(`data: ${waterLevel(new Date()).toFixed(2)}\n\n`);
  const timer = setInterval(send, LEVEL_EVERY_MS);
  streams.add(response);
  response.on('close', () => {
    clearInterval(timer);
    streams.delete(response);
  });
  send();
});

api.use((_request, response) => {
  response.status(404).json({ error: 'There is no such resource.' });
});

// Express knows an error handler by its four parameters.
api.use((error, _request, response, _next) => {
  response.status(error.status ?? 500).json({ error: error.expose ? error.message : 'The fault is ours.' });
});
