import http from 'node:http';
import serve from './serve.cjs';

serve('default import', http);
