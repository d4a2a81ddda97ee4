import serve from './serve.cjs';

const { createServer } = await import('node:http');
serve('dynamic import', { createServer });
