// TypeScript that Node runs by leaving the types out.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

interface Greeting { text: string }

const greeting: Greeting = { text: 'from TypeScript' };
const server = createServer((request: IncomingMessage, response: ServerResponse): void => {
  response.end(greeting.text);
});
server.listen(Number(process.env.PORT), (): void => console.log('listening'));
