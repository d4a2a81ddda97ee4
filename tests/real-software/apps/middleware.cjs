'use strict';
// Middleware used on a plain http server as its documentation does: compression, body-parser,
// multer, serve-static, and server-sent events by hand.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const express = require('express-5');
const bodyParser = require('body-parser');
const compression = require('compression');
const multer = require('multer');
const serveStatic = require('serve-static');

const app = express();
app.use(compression({ threshold: 100 }));
app.get('/text', (req, res) => res.type('text').send('compress me '.repeat(1000)));
app.get('/small', (req, res) => res.type('text').send('small'));
app.get('/flushed', (req, res) => {
  res.type('text/plain');
  res.write('first '.repeat(50));
  res.flush();
  setTimeout(() => res.end('second'), 300);
});

app.post('/json', bodyParser.json({ limit: '10kb' }), (req, res) => res.json(req.body));
app.post('/form', bodyParser.urlencoded({ extended: false }), (req, res) => res.json(req.body));
app.post('/text', bodyParser.text(), (req, res) => res.json({ text: req.body }));
app.post('/raw', bodyParser.raw({ limit: '50mb' }), (req, res) => res.json({ length: req.body.length, buffer: Buffer.isBuffer(req.body) }));

const upload = multer({ dest: process.env.UPLOADS });
app.post('/upload', upload.single('file'), (req, res) => {
  fs.unlinkSync(req.file.path);
  res.json({ size: req.file.size, name: req.file.originalname, field: req.body.field });
});
const memory = multer({ storage: multer.memoryStorage(), limits: { fileSize: 1000 } });
app.post('/small-upload', memory.array('files', 3), (req, res) => res.json(req.files.map(({ originalname, size }) => [originalname, size])));

app.get('/events', (req, res) => {
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-transform', Connection: 'keep-alive' });
  res.flushHeaders();
  let id = Number(req.headers['last-event-id'] ?? 0);
  const timer = setInterval(() => {
    id += 1;
    res.write(`id: ${id}\nevent: tick\ndata: ${id}\n\n`);
  }, 20);
  req.on('close', () => {
    clearInterval(timer);
    console.log('event stream closed');
  });
});
app.post('/echo', bodyParser.json(), (req, res) => res.json(req.body));
app.use(serveStatic(path.join(__dirname, '../pages'), { index: ['index.html'], maxAge: '1d', setHeaders: (res) => res.setHeader('X-Static', '1') }));
app.use((error, req, res, next) => res.status(error.status ?? 400).send(error.message));

const server = http.createServer(app);
server.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
