import * as http from 'node:http';
import serve from './serve.cjs';

serve('namespace import', http);
