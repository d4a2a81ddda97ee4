'use strict';
// http-proxy as its README writes it: a front that streams to a back in the same process.

const http = require('node:http');
const httpProxy = require('http-proxy');
const { WebSocketServer } = require('ws');

const back = http.createServer((req, res) => {
  if (req.url === '/slow') {
    res.write('first');
    setTimeout(() => res.end('second'), 300);
  } else if (req.url === '/large') {
    res.setHeader('X-Back', 'yes');
    const part = Buffer.alloc(64 << 10, 'x');
    let left = 800; // 50 MB
    const send = () => {
      while (left > 0) {
        left -= 1;
        if (!res.write(part)) return res.once('drain', send);
      }
      return res.end();
    };
    send();
  } else if (req.method === 'POST') {
    res.setHeader('X-Forwarded', String(req.headers['x-forwarded-for']));
    req.on('close', () => console.log(`back request complete ${req.complete}`));
    req.on('error', () => {});
    req.pipe(res);
  } else {
    res.end(`back ${req.url}`);
  }
});
new WebSocketServer({ server: back }).on('connection', (socket) => socket.on('message', (data) => socket.send(`back ${data}`)));

back.listen(0, '127.0.0.1', () => {
  const proxy = httpProxy.createProxyServer({ target: { host: '127.0.0.1', port: back.address().port }, xfwd: true, ws: true });
  proxy.on('error', (error, req, res) => {
    if (res.writeHead) res.writeHead(502).end(`proxy: ${error.code}`);
  });
  const dead = httpProxy.createProxyServer({ target: 'http://127.0.0.1:1' });
  const front = http.createServer((req, res) => {
    if (req.url === '/dead') dead.web(req, res, {}, (error) => res.writeHead(502).end(`dead: ${error.code}`));
    else proxy.web(req, res);
  });
  front.on('upgrade', (req, socket, head) => proxy.ws(req, socket, head));
  front.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${front.address().port}`));
});
