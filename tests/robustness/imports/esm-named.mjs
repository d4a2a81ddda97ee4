import { createServer } from 'http';
import serve from './serve.cjs';

serve('named import', { createServer });
