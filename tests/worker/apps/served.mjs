// A program that `portico run` runs: an ES module that waits for something before it listens.

import http from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { recycle } from 'portico';

await wait(20);
const server = http.createServer(async (request, response) => {
  if (request.url === '/recycle') await recycle('asked to');
  if (request.url === '/crash') process.exit(7);
  if (request.url === '/slow') await wait(100);
  if (request.url === '/slower') await wait(3000);
  response.end(`${process.pid} ${process.env.PORTICO_INSTANCE} ${process.argv.slice(2).join(' ')}`);
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(`listening ${process.pid}`));
