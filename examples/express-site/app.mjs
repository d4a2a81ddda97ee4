// The site of a boat club: an ordinary Express 5 application that knows nothing of what serves it.

import { fileURLToPath } from 'node:url';
import express from 'express';
import { api } from './lib/api.mjs';
import { boats, boatBySlug } from './lib/boats.mjs';
import { bookings, book, openDays, validate } from './lib/bookings.mjs';
import { tideTable } from './lib/tides.mjs';

const folder = (name) => fileURLToPath(new URL(name, import.meta.url));

export const app = express();

app.set('views', folder('views'));
app.set('view engine', 'ejs');
app.disable('x-powered-by');
app.locals.dayName = (iso) => new Date(`${iso}T12:00:00Z`).toLocaleDateString('en-GB', {
  weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC',
});

app.use(express.static(folder('public'), { maxAge: '1h' }));
app.use((request, response, next) => {
  response.locals.path = request.path;
  next();
});

app.get('/', (_request, response) => {
  response.render('home', { title: 'Tidewater Boat Club', boats: boats.slice(0, 3), tides: tideTable(new Date()) });
});

app.get('/boats', (_request, response) => {
  response.render('boats', { title: 'Our boats', boats });
});

app.get('/boats/:slug', (request, response, next) => {
  const boat = boatBySlug(request.params.slug);
  if (boat === undefined) return next();
  return response.render('boat', { title: boat.name, boat, booked: bookings().filter((booking) => booking.boat === boat.slug) });
});

app.get('/book', (request, response) => {
  renderForm(response, { boat: request.query.boat }, {});
});

app.post('/book', express.urlencoded({ extended: false }), (request, response) => {
  const { errors, booking } = validate(request.body ?? {});
  if (booking === undefined) {
    response.status(422);
    return renderForm(response, request.body ?? {}, errors);
  }
  return response.redirect(303, `/bookings/${book(booking).number}`);
});

function renderForm(response, values, errors) {
  response.render('book', { title: 'Book a boat', boats, days: openDays(new Date()), values, errors });
}

app.get('/bookings/:number', (request, response, next) => {
  const booking = bookings().find(({ number }) => number === request.params.number);
  if (booking === undefined) return next();
  return response.render('booking', { title: 'See you on the water', booking, boat: boatBySlug(booking.boat) });
});

app.get('/about', (request, response) => {
  const { socket } = request;
  response.render('about', {
    title: 'About this site',
    facts: [
      ['Protocol', `HTTP/${request.httpVersion}${socket.encrypted ? ` over ${socket.getProtocol()}` : ''}`],
      ['Cipher suite', socket.encrypted ? socket.getCipher().standardName : 'none: this page came over plain HTTP'],
      ['Your address', `${socket.remoteAddress}, port ${socket.remotePort}`],
      ['Node.js', process.versions.node],
      ['Process', `${process.pid}, up for ${Math.round(process.uptime())} s`],
    ],
  });
});

app.use('/api', api);

app.use((_request, response) => {
  response.status(404).render('error', { title: 'Not on our chart', text: 'There is no such page. It may have drifted off.' });
});

// Express knows an error handler by its four parameters.
app.use((error, _request, response, _next) => {
  const status = error.status ?? 500;
  if (status === 500) console.error(error);
  response.status(status).render('error', { title: 'Something went overboard', text: status === 500 ? 'The fault is ours.' : error.message });
});
