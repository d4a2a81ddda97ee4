// A process behind a host whose answers are kept: node keeper.mjs PREFIX NAME. It counts what it is asked.

import http from 'node:http';
import { cache } from 'portico';

const [prefix, name] = process.argv.slice(2);
let calls = 0;

const server = http.createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const action = pathname.split('/').pop();
  if (action === 'purge') {
    response.end(String(await cache.purge(JSON.parse(searchParams.get('what')))));
    return;
  }
  if (action === 'stats') {
    response.end(JSON.stringify(await cache.stats()));
    return;
  }
  calls++;
  if (action.startsWith('kept')) response.cacheDuration = 60;
  if (action === 'kept-tagged') cache.tag(response, 'news');
  if (action === 'kept-slow') await new Promise((resolve) => setTimeout(resolve, 300));
  if (action === 'kept-half') {
    response.writeHead(200, { 'Content-Length': 1000 });
    response.write('only the beginning');
    if (searchParams.has('die')) setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50);
    else response.end('x'.repeat(982));
    return;
  }
  response.end(`${name} ${calls}`);
});
server.listen(prefix, () => console.log('listening'));
process.on('SIGTERM', () => server.close(() => process.exit(0)));
