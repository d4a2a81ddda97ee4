'use strict';
// A small site as Express's guide writes it. argv[2] is the package: express-4 or express-5.

const path = require('node:path');
const express = require(process.argv[2]);

const app = express();
app.use(express.json());
app.use(express.urlencoded({ extended: true }));
app.use('/static', express.static(path.join(__dirname, '../pages')));

app.get('/', (req, res) => res.send('Hello World!'));
app.get('/users/:id', (req, res) => res.json({ id: req.params.id, query: req.query, ip: req.ip, secure: req.secure, host: req.hostname }));
app.post('/echo', (req, res) => res.status(201).set('X-Echo', 'yes').json(req.body));
app.get('/redirect', (req, res) => res.redirect('/'));
app.get('/cookie', (req, res) => res.cookie('a', '1').cookie('b', '2').sendStatus(204));
app.get('/file', (req, res) => res.sendFile(path.join(__dirname, '../pages/index.html')));
app.get('/download', (req, res) => res.download(path.join(__dirname, '../pages/index.html'), 'page ž.html'));
app.get('/format', (req, res) => res.format({ text: () => res.send('text'), json: () => res.json({ kind: 'json' }) }));
app.get('/throws', () => {
  throw new Error('thrown in a handler');
});
app.get('/rejects', async (req, res, next) => next(new Error('passed on')));
app.all('/method', (req, res) => res.send(req.method));
app.use((req, res) => res.status(404).send('no such page'));
app.use((error, req, res, next) => {
  if (res.headersSent) return next(error);
  return res.status(500).send(error.message);
});

const server = app.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
