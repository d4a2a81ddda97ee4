'use strict';
// A server to be treated badly. What a request wants is in its path.

const http = require('node:http');

const server = http.createServer({ connectionsCheckingInterval: 200, headersTimeout: 2000, requestTimeout: 3000 }, (req, res) => {
  req.on('error', () => {});
  res.on('error', () => {});
  switch (req.url) {
    case '/connections':
      server.getConnections((error, count) => res.end(`${count}`));
      break;
    case '/memory':
      global.gc?.();
      res.end(`${process.memoryUsage().rss}`);
      break;
    case '/never': break;
    case '/echo': req.pipe(res); break;
    case '/stream': {
      const timer = setInterval(() => res.write('x'.repeat(10_000)), 1);
      res.on('close', () => clearInterval(timer));
      break;
    }
    case '/twice':
      res.end('once');
      res.end('twice');
      res.write('thrice', () => {});
      break;
    case '/throw': throw new Error('thrown');
    default: res.end('ok');
  }
});
process.on('uncaughtException', (error) => {
  if (error.message !== 'thrown') throw error;
});
server.listen({ port: process.env.PORT, host: '127.0.0.1', backlog: 4096 }, () => console.log(`listening on ${server.address().port}`));
