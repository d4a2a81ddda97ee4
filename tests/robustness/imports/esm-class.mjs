import { Server } from 'node:http';
import serve from './serve.cjs';

serve('named class', { createServer: (handler) => new Server(handler) });
