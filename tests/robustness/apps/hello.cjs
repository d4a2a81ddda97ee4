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

const server = http.createServer(SHAPES[process.env.SHAPE ?? 'hello']);
server.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
