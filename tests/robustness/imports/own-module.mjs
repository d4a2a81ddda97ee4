import { createServer } from 'portico/http';
import http from 'node:http';
import serve from './serve.cjs';

serve('portico/http', { createServer });
console.log(`node:http is ${http.createServer === createServer ? 'replaced' : "Node's"}`);
