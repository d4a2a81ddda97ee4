// An ES module that is ready after a top-level await.

import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

const greeting = await setTimeout(20, 'from a module');
const server = createServer((request, response) => response.end(greeting));
await new Promise((resolve) => server.listen(process.env.PORT ?? 3000, resolve));
console.log('listening');
