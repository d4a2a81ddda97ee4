'use strict';
/** A reverse proxy in Node with the package http-proxy: node proxy.cjs PORT PORT-OF-/1/ PORT-OF-/2/ */
const http = require('node:http');
const httpProxy = require('http-proxy');

const [port, ...targets] = process.argv.slice(2).map(Number);
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 });
const proxy = httpProxy.createProxyServer({ agent });
proxy.on('error', (error, request, response) => {
  response.writeHead?.(502);
  response.end(error.message);
});
http.createServer((request, response) => {
  const target = targets[request.url.startsWith('/2/') ? 1 : 0];
  proxy.web(request, response, { target: `http://127.0.0.1:${target}` });
}).listen(port, '127.0.0.1');
