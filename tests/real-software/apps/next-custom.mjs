// The custom server of Next's documentation. argv[2] is the built site's folder.

import { createServer } from 'node:http';
import next from 'next';

const app = next({ dev: false, dir: process.argv[2], hostname: '127.0.0.1', port: 0 });
const handle = app.getRequestHandler();
await app.prepare();
const server = createServer((req, res) => handle(req, res));
server.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
