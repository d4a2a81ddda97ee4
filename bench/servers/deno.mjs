/**
 * Deno.serve, sending node:http's headers as far as it lets us.
 *
 * deno run -A deno.mjs HANDLER PORT [KEY CERTIFICATE]
 */
const [handlerName, port, keyFile, certificateFile] = Deno.args;
const big = new Uint8Array(65536).fill(120);

const kept = { Connection: 'keep-alive', 'Keep-Alive': 'timeout=5' };
const plain = { 'Content-Type': 'text/plain', ...(Deno.env.get('BENCH_CLOSE') ? { Connection: 'close' } : kept) };
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

const tls = keyFile && { key: Deno.readTextFileSync(keyFile), cert: Deno.readTextFileSync(certificateFile) };
Deno.serve({ hostname: '127.0.0.1', port: Number(port), onListen() {}, ...tls }, handlers[handlerName]);
if (globalThis.gc) Deno.addSignalListener('SIGUSR2', () => globalThis.gc());
