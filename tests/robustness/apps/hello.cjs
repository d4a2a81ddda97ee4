'use strict';
// The smallest server, for load. SHAPE chooses what a request does.

const http = require('node:http');

const SHAPES = {
  hello: (req, res) => res.end('Hello, world!'),
  // Touches what is made late: headers, streams, the socket, a timer, a store.
  busy: (req, res) => {
    res.setHeader('X-Agent', `${Object.keys(req.headers).length} ${req.socket.remoteAddress}`);
    req.on('close', () => {});
    res.on('finish', () => {});
    req.resume();
    setImmediate(() => {
      res.write('a part, ');
      res.end('and the rest');
    });
  },
};

const shape = SHAPES[process.env.SHAPE ?? 'hello'];
const server = http.createServer((req, res) => {
  if (req.url !== '/collect') return shape(req, res);
  global.gc(); // what is left is held, not merely not collected yet
  return res.end(JSON.stringify(process.memoryUsage()));
});
server.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
