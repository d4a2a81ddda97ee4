/**
 * Bun.serve, sending node:http's headers as far as it lets us.
 *
 * bun bun.mjs HANDLER PORT [KEY CERTIFICATE]
 */
const [handlerName, port, keyFile, certificateFile] = process.argv.slice(2);
const big = new Uint8Array(65536).fill(120);

const kept = { Connection: 'keep-alive', 'Keep-Alive': 'timeout=5' };
const plain = { 'Content-Type': 'text/plain', ...(process.env.BENCH_CLOSE ? { Connection: 'close' } : kept) };
const json = { ...plain, 'Content-Type': 'application/json' };
const binary = { ...plain, 'Content-Type': 'application/octet-stream' };

const handlers = {
  hello: () => new Response('Hello, world!', { headers: plain }),
  'read-headers'(request) {
    let characters = 0;
    for (const [name, value] of request.headers) characters += name.length + value.length;
    globalThis.charactersRead = characters;
    return new Response('Hello, world!', { headers: plain });
  },
  echo: async (request) => new Response(JSON.stringify(await request.json()), { headers: json }),
  big: () => new Response(big, { headers: binary }),
};

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  idleTimeout: process.env.BENCH_KEEP_ALIVE_MS ? 120 : 10,
  tls: keyFile && { key: Bun.file(keyFile), cert: Bun.file(certificateFile) },
  fetch: handlers[handlerName],
});
if (process.env.BENCH_KEEP_ALIVE_MS) process.on('SIGUSR2', () => Bun.gc(true));
