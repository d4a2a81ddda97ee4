'use strict';
// One program with a page for each test, as an application of iisnode has a file for each: the last segment of the path
// chooses, whatever follows it.

const fs = require('node:fs');
const http = require('node:http');
const { recycle } = require('portico');

let served = 0;
const KILOBYTE = Buffer.alloc(1024, 'x');
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function bytesOf(request) {
  let bytes = 0;
  for await (const part of request) bytes += part.length;
  return bytes;
}

async function textOf(request) {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return text;
}

/** 30 MB in writes of a kilobyte, without a look at what `write` returns. */
function download(response) {
  for (let index = 0; index < 30 * 1024; index++) response.write(KILOBYTE);
  response.end();
}

const PAGES = {
  hello: (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('Hello, world!'),
  count: (request, response) => response.end(`Hello, world ${++served}`),
  pid: (request, response) => response.end(String(process.pid)),
  /** An answer without an end, and who gives it. */
  hold: (request, response) => response.writeHead(200, { 'x-pid': process.pid }).write('.'),
  url: (request, response) => response.end(request.url),
  echo: (request, response) => request.pipe(response),
  file: (request, response) => fs.createReadStream('index.html').pipe(response),
  recycle: (request, response) => recycle('a test').then(() => response.end('recycling')),
  environment: (request, response) => response.end(JSON.stringify(process.env)),
  encoding: async (request, response) => {
    const { search } = new URL(request.url, 'http://localhost');
    if (search === '?onechunk') {
      response.writeHead(200);
      response.write('chunked response');
      response.end();
    } else if (search === '?tenchunks') {
      for (let index = 0; index < 10; index++) {
        response.write(String(index));
        await pause(20);
      }
      response.end();
    } else response.writeHead(200, { 'Content-Length': 23 }).end('content-length response');
  },
  fields: (request, response) => {
    const given = request.headers['x-foo'];
    if (given !== undefined) response.setHeader('x-bar', given).setHeader('x-got-foo', 'true');
    response.end('Hello, world');
  },
  client: (request, response) => response.end(JSON.stringify({ address: request.socket.remoteAddress, forwarded: request.headers['x-forwarded-for'] ?? null })),
  repeated: (request, response) => response.writeHead(200, [['Foo', 'Val1'], ['Foo', 'Val2']]).end('two'),
  upload: async (request, response) => response.end(`${request.headers['transfer-encoding'] === 'chunked'}-${await textOf(request)}`),
  download: async (request, response) => {
    await bytesOf(request);
    download(response);
  },
  size: async (request, response) => response.end(String(await bytesOf(request))),
};

const server = http.createServer((request, response) => {
  const segments = new URL(request.url, 'http://localhost').pathname.split('/');
  const page = segments.map((segment) => segment.replace(/\.js$/, '')).find((segment) => segment in PAGES);
  if (page === undefined) response.writeHead(404).end();
  else PAGES[page](request, response);
});
server.listen(process.env.PORT, () => console.log('listening'));
