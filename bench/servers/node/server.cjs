'use strict';
/**
 * The unchanged Node server. It knows nothing of Portico: the harness runs this very file plain and with
 * `--import portico/register`.
 *
 * node server.cjs HANDLER PORT [KEY CERTIFICATE]
 */
const http = require('node:http');
const https = require('node:https');
const fs = require('node:fs');
const path = require('node:path');

const [handlerName, port, keyFile, certificateFile] = process.argv.slice(2);
/** A handler of requests, or what attaches itself to the server. */
const loaded = require(path.join(__dirname, `${handlerName}.cjs`));
const handler = typeof loaded === 'function' ? loaded : undefined;

const server = keyFile
  ? https.createServer({ key: fs.readFileSync(keyFile), cert: fs.readFileSync(certificateFile) }, handler)
  : http.createServer(handler);
loaded.attach?.(server);

// The cells that count memory hold connections for longer than five seconds, and collect garbage before each reading.
if (process.env.BENCH_KEEP_ALIVE_MS) server.keepAliveTimeout = Number(process.env.BENCH_KEEP_ALIVE_MS);
if (globalThis.gc) process.on('SIGUSR2', () => globalThis.gc());

server.listen(Number(port), '127.0.0.1');
