/**
 * What is measured: one row for each cell. `handler` is the name of the handler in every server, `request` a name from
 * requests.mjs. `target`: at most this multiple of node:http's value, the goal. `moonshots`: at most this
 * multiple of a peer's value, in the same rounds. `hosts`: the cell is about processes behind a host; its targets are
 * the host's, relative to node:http served directly and to the proxies that are `peers`.
 */

const KEPT = { connections: 100, pipeline: 1 };
const FEW = { connections: 10, pipeline: 1 };
const EACH = { connections: 100, pipeline: 1, close: true };

/** Kinds: closed = CPU per request at saturation; wrk = the same with wrk; open = latency at a rate; memory. */
export const CELLS = [
  {
    id: 'hello', title: 'keep-alive, "Hello, world!"', kind: 'closed', handler: 'hello', request: 'plain', ...KEPT,
    target: 0.42, moonshots: [{ peer: 'uws', ratio: 0.9 }], quick: true,
  },
  {
    id: 'hello-wrk', title: 'the same, generator wrk', kind: 'wrk', handler: 'hello', request: 'plain', ...KEPT,
    target: 0.42,
  },
  {
    id: 'chunked', title: 'writeHead, then end (chunked)', kind: 'closed', handler: 'chunked', request: 'plain',
    ...KEPT,
  },
  {
    id: 'browser', title: 'browser headers, untouched', kind: 'closed', handler: 'hello', request: 'browser', ...KEPT,
    target: 0.42, quick: true,
  },
  {
    id: 'browser-read', title: 'browser headers, all read', kind: 'closed', handler: 'read-headers', request: 'browser',
    ...KEPT, target: 0.5, quick: true,
  },
  {
    id: 'close', title: 'close: a connection for each request', kind: 'closed', handler: 'hello', request: 'close',
    ...EACH, target: 0.45, moonshots: [{ peer: 'nginx', ratio: 1 }], quick: true,
  },
  {
    id: 'pipelined', title: 'pipelined 16 deep', kind: 'closed', handler: 'hello', request: 'plain', ...KEPT,
    pipeline: 16, target: 0.1, moonshots: [{ peer: 'uws', ratio: 0.5 }], quick: true,
  },
  {
    id: 'post', title: 'POST of 1 KB JSON, read, parsed, echoed', kind: 'closed', handler: 'echo', request: 'post',
    ...KEPT, target: 0.6, quick: true,
  },
  {
    id: 'big', title: '64 KB answer', kind: 'closed', handler: 'big', request: 'plain', ...KEPT, target: 0.6,
    quick: true,
  },
  {
    id: 'ws', title: '`ws`, echo of 64 bytes', kind: 'closed', handler: 'websocket', request: 'websocket-64', ...KEPT,
    target: 0.55, quick: true,
  },
  {
    id: 'ws-16k', title: '`ws`, echo of 16 KB', kind: 'closed', handler: 'websocket', request: 'websocket-16k', ...KEPT,
    target: 0.75,
  },
  {
    id: 'pipe', title: '1 MB piped from a file', kind: 'closed', handler: 'pipe', request: 'plain', ...FEW, target: 0.75,
  },
  {
    id: 'megabyte', title: '1 MB answer', kind: 'closed', handler: 'megabyte', request: 'plain', ...FEW,
  },
  {
    id: 'writes', title: '50 small writes in one tick', kind: 'closed', handler: 'writes', request: 'plain', ...KEPT,
    target: 0.4, quick: true,
  },
  {
    id: 'writes-ticks', title: '50 small writes over ten ticks', kind: 'closed', handler: 'writes-over-ticks',
    request: 'plain', ...KEPT,
  },
  {
    id: 'upload', title: 'POST of 1 MB, read by \'data\'', kind: 'closed', handler: 'upload', request: 'upload', ...FEW,
    target: 0.6, quick: true,
  },
  {
    id: 'tls', title: 'TLS keep-alive', kind: 'closed', handler: 'hello', request: 'plain', ...KEPT,
    tls: { certificate: 'rsa', mode: 'full' }, target: 0.5, moonshots: [{ peer: 'nginx', ratio: 1 }], quick: true,
  },
  {
    id: 'tls-resume', title: 'TLS reconnect, resumed', kind: 'closed', handler: 'hello', request: 'close', ...EACH,
    connections: 32, tls: { certificate: 'rsa', mode: 'resume' }, target: 0.4, quick: true,
  },
  {
    id: 'tls-full-rsa', title: 'TLS full handshake, RSA-2048', kind: 'closed', handler: 'hello', request: 'close',
    ...EACH, connections: 32, tls: { certificate: 'rsa', mode: 'full' }, target: 0.25,
    moonshots: [{ peer: 'nginx', ratio: 1 }], quick: true,
  },
  {
    id: 'tls-full-p256', title: 'TLS full handshake, P-256', kind: 'closed', handler: 'hello', request: 'close',
    ...EACH, connections: 32, tls: { certificate: 'p256', mode: 'full' },
  },
  {
    id: 'express', title: 'Express 5, "Hello, world!"', kind: 'closed', handler: 'express', request: 'plain', ...KEPT,
    quick: true,
  },
  {
    id: 'latency', title: 'p99 latency at half of node:http’s peak rate', kind: 'open', handler: 'hello',
    request: 'plain', ...KEPT, target: 1, quick: true,
  },
  {
    id: 'idle', title: 'memory of an idle connection (10,000)', kind: 'memory', handler: 'hello', request: 'plain',
    connections: 10_000, pipeline: 1, target: 0.3, quick: true,
  },
  {
    id: 'idle-tls', title: 'memory of an idle TLS connection (1,000)', kind: 'memory', handler: 'hello',
    request: 'plain', connections: 1000, pipeline: 1, tls: { certificate: 'p256', mode: 'full' }, target: 0.3,
  },
  {
    id: 'prefixes', title: '2 processes on one port by URL prefix', kind: 'closed', handler: 'prefixes',
    request: 'prefixes', ...KEPT, quick: true,
    hosts: { target: 0.6, peers: [{ peer: 'nginx+node', ratio: 0.28 }, { peer: 'http-proxy+node', ratio: 0.08 }] },
  },
  {
    id: 'prefixes-alone', title: 'the same, one request at a time', kind: 'closed', handler: 'prefixes',
    request: 'prefixes', connections: 1, pipeline: 1, hosts: {},
  },
  {
    id: 'prefixes-latency', title: 'the same, p99 at half of node:http’s peak rate', kind: 'open', handler: 'prefixes',
    request: 'prefixes', ...KEPT, hosts: {},
  },
];

/** Cells to run. @throws RangeError for a name that is no cell. */
export function selectCells(options) {
  for (const id of options.cells ?? []) {
    if (!CELLS.some((cell) => cell.id === id)) throw new RangeError(`no cell is called ${id}`);
  }
  return CELLS.filter((cell) => options.cells?.includes(cell.id) ?? (cell.quick || !options.quick));
}
