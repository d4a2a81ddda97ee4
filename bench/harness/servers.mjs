/**
 * The servers: how each is started for a cell. `base` is the id of the node:http that a server belongs to; peers have
 * none, and are put beside each.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BENCH, BUILD, ROOT, packagedBinary } from './paths.mjs';
import { prefixServers } from './prefix-servers.mjs';

const NODE_SERVER = path.join(BENCH, 'servers/node/server.cjs');
const IDLE_KEEP_ALIVE_MS = '120000';

/** Key and certificate files of a cell, or nothing. */
const tlsFiles = (cell) =>
  cell.tls ? ['key', 'crt'].map((kind) => path.join(BUILD, `${cell.tls.certificate}.${kind}`)) : [];
const environment = (cell) => ({
  ...(cell.kind === 'memory' && { BENCH_KEEP_ALIVE_MS: IDLE_KEEP_ALIVE_MS }),
  ...(cell.close && { BENCH_CLOSE: '1' }), // for the peers that have to be told to say Connection: close
});
const exposeGc = (cell) => (cell.kind === 'memory' ? ['--expose-gc'] : []);
const script = (name) => path.join(BENCH, 'servers', name);

/** Nodes to measure: those given, or the one on the path and Node 26 from npm. @returns {{ id, path, version }[]} */
export function findNodes(given) {
  const packaged = path.join(BENCH, 'node_modules/node-26/bin/node');
  const candidates = given ?? ['node', ...(existsSync(packaged) ? [packaged] : [])];
  const nodes = new Map();
  for (const candidate of candidates) {
    const [version, resolved] = execFileSync(candidate, ['-p', 'process.version + " " + process.execPath'], {
      encoding: 'utf8',
    }).trim().split(' ');
    const major = version.slice(1).split('.')[0];
    nodes.set(version, { id: major, path: resolved, version });
  }
  return [...nodes.values()];
}

/** All servers that this machine can start. Each: { id, title, base, version, command(cell, port, answer), check }. */
export function findServers(nodes) {
  const servers = [];
  for (const node of nodes) servers.push(...nodeServers(node), ...prefixServers(node));
  const uwsNode = nodes.find((node) => runs(node.path, ['-e', 'require("uwebsockets")']));
  if (uwsNode) servers.push(uws(uwsNode));
  const bunPath = packagedBinary('@oven', 'bun-', 'bin/bun');
  if (bunPath) servers.push(bun(bunPath));
  const denoPath = packagedBinary('@deno', '', 'deno');
  if (denoPath) servers.push(deno(denoPath));
  if (runs('nginx', ['-v'])) servers.push(nginx());
  servers.push(floor());
  return servers;
}

function runs(file, args) {
  try {
    execFileSync(file, args, { cwd: BENCH, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** node:http, and the same script on Portico, inline and with one thread. */
function nodeServers(node) {
  const base = `node${node.id}`;
  const run = (flags, settings) => (cell, port) => ({
    file: node.path,
    args: [...flags, ...exposeGc(cell), NODE_SERVER, cell.handler, String(port), ...tlsFiles(cell)],
    cwd: ROOT, // where `portico/register` resolves
    env: { ...settings, ...environment(cell) },
  });
  const portico = (threads) =>
    run(['--import', 'portico/register'], { PORTICO_REQUIRE: '1', PORTICO_THREADS: String(threads) });
  const onEngine = { mapped: /portico[^\n]*\.node$/m, sameBytes: true };
  const id = `portico${node.id}`;
  const threaded = { id: `${id}-t1`, title: `Portico, 1 thread, Node ${node.id}`, threads: 1 };
  return [
    { id: base, title: `node:http ${node.id}`, base, version: node.version, command: run([], {}) },
    { id, title: `Portico inline, Node ${node.id}`, base, command: portico(0), ...onEngine },
    { ...threaded, base, command: portico(1), ...onEngine },
  ];
}

/** Handlers that peers with an API of their own have. */
const OWN_HANDLERS = new Set(['hello', 'read-headers', 'echo', 'big']);
const UWS_HANDLERS = new Set([...OWN_HANDLERS, 'websocket', 'megabyte', 'writes', 'upload']);

function uws(node) {
  return {
    id: 'uws',
    title: 'uWebSockets.js',
    version: `npm uwebsockets ${packageVersion('uwebsockets')} on Node ${node.version}`,
    command: (cell, port) =>
      UWS_HANDLERS.has(cell.handler) && {
        file: node.path,
        args: [...exposeGc(cell), script('uwebsockets.cjs'), cell.handler, String(port), ...tlsFiles(cell)],
        cwd: BENCH,
      },
  };
}

/** Bun and Deno also run the Express script, on the node:http that they have of their own. */
function bun(file) {
  return {
    id: 'bun',
    title: 'Bun',
    version: execFileSync(file, ['--version'], { encoding: 'utf8' }).trim(),
    command: (cell, port) => {
      if (cell.handler === 'express') return { file, args: [NODE_SERVER, 'express', String(port)], cwd: BENCH };
      if (!OWN_HANDLERS.has(cell.handler)) return null;
      const args = [script('bun.mjs'), cell.handler, String(port), ...tlsFiles(cell)];
      return { file, args, cwd: BENCH, env: environment(cell) };
    },
  };
}

function deno(file) {
  const offline = { DENO_NO_UPDATE_CHECK: '1', DENO_DIR: path.join(BUILD, 'deno') };
  return {
    id: 'deno',
    title: 'Deno',
    version: execFileSync(file, ['--version'], { encoding: 'utf8' }).split(/\s/)[1],
    command: (cell, port) => {
      const flags = ['run', '-A', '--no-check', '--cached-only'];
      if (cell.kind === 'memory') flags.push('--v8-flags=--expose-gc');
      if (cell.handler === 'express') {
        return { file, args: [...flags, NODE_SERVER, 'express', String(port)], cwd: BENCH, env: offline };
      }
      if (!OWN_HANDLERS.has(cell.handler)) return null;
      const args = [...flags, script('deno.mjs'), cell.handler, String(port), ...tlsFiles(cell)];
      return { file, args, cwd: BENCH, env: { ...offline, ...environment(cell) } };
    },
  };
}

function nginx() {
  return {
    id: 'nginx',
    title: 'nginx',
    version: execFileSync('sh', ['-c', 'nginx -v 2>&1'], { encoding: 'utf8' }).split('/')[1].trim(),
    // nothing in nginx reads the headers one by one, or parses JSON
    command: (cell, port) => {
      if (!['hello', 'big'].includes(cell.handler)) return null;
      const folder = path.join(BUILD, `nginx-${port}`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(path.join(folder, 'big'), 'x'.repeat(65536));
      writeFileSync(path.join(folder, 'nginx.conf'), nginxConfiguration(cell, port, folder));
      return { file: 'nginx', args: ['-c', path.join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr'] };
    },
  };
}

function nginxConfiguration(cell, port, folder) {
  const [key, certificate] = tlsFiles(cell);
  const tls = key
    ? `ssl_certificate ${certificate}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
       ssl_session_tickets on; ssl_session_timeout 1h;`
    : '';
  const location = cell.handler === 'big'
    ? `root ${folder}; try_files /big =404; open_file_cache max=10; sendfile on; etag off; if_modified_since off;
       max_ranges 0; default_type application/octet-stream;`
    : 'default_type text/plain; return 200 "Hello, world!";';
  return `
    daemon off; worker_processes 1; pid ${folder}/pid; worker_rlimit_nofile 65536;
    events { worker_connections 16384; }
    http {
      access_log off; error_log stderr crit; server_tokens off; keepalive_requests 1000000000;
      keepalive_timeout ${cell.kind === 'memory' ? 120 : 65} 5; lingering_close off; tcp_nodelay on;
      client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
      uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      server { listen 127.0.0.1:${port}${key ? ' ssl' : ''} backlog=511; ${tls} location / { ${location} } }
    }`;
}

/** Sends node:http's bytes without having looked at the request. Has no TLS. */
function floor() {
  return {
    id: 'floor',
    title: 'floor (C)',
    command: (cell, port, answer) => {
      if (cell.tls || !FLOOR_HANDLERS.has(cell.handler)) return null;
      const file = path.join(BUILD, `floor-${port}.answer`);
      writeFileSync(file, answer);
      return {
        file: path.join(BUILD, 'floor'),
        args: [String(port), file, String(BODY_BYTES[cell.request] ?? 0), ...floorMode(cell)],
      };
    },
  };
}

const FLOOR_HANDLERS = new Set(['hello', 'echo', 'big', 'websocket', 'upload', 'pipe']);
/** Bytes of the bodies of requests that have one. */
const BODY_BYTES = { post: 1024, upload: 1024 * 1024 };

function floorMode(cell) {
  if (cell.handler === 'websocket') return ['websocket'];
  if (cell.handler === 'pipe') return ['pipe', path.join(BUILD, 'megabyte')];
  return cell.close ? ['close'] : [];
}

function packageVersion(name) {
  const code = `JSON.parse(require("fs").readFileSync("node_modules/${name}/package.json")).version`;
  return execFileSync(process.execPath, ['-p', code], { cwd: BENCH, encoding: 'utf8' }).trim();
}
