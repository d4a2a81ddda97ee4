import 'portico/register';
import { createServer } from 'node:http';
import serve from './serve.cjs';

serve('first import', { createServer });
