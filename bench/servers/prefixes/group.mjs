/**
 * Two Node processes behind one port, each with a URL prefix, /1/ and /2/: node group.mjs KIND PORT FOLDER
 *
 * KIND is the front: `host` (Portico), `nginx`, `haproxy` or `http-proxy`. Everything runs in this process's group, so
 * that ending the group ends it; the members' Node is the one that runs this file.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const [kind, portText, folder] = process.argv.slice(2);
const port = Number(portText);
const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '../../..');
/** The harness gives the ports from 21,000 on, one to each group. */
const first = 2000 + (port - 21_000) * 2;
const second = first + 1;

mkdirSync(folder, { recursive: true });
const fronts = { host, nginx, haproxy, 'http-proxy': nodeProxy };
await fronts[kind]();
// The members end with their group; should one end before, the whole is of no use.

function run(file, args, env = {}) {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env }, cwd: root });
  child.on('exit', (code, signal) => {
    console.error(`${path.basename(file)} ${args[0]} ended: ${signal ?? code}`);
    process.exit(1);
  });
  return child;
}

/** Starts a member and waits until it listens. */
async function member(address, flags = [], env = {}) {
  const child = run(process.execPath, [...flags, path.join(here, 'member.cjs'), address], env);
  await new Promise((resolve) => child.stdout.once('data', resolve));
}

async function members() {
  await Promise.all([member(String(first)), member(String(second))]);
}

async function host() {
  const socket = path.join(folder, 'host.sock');
  rmSync(socket, { force: true });
  const configuration = path.join(folder, 'portico.toml');
  writeFileSync(configuration, '[host]\nshards = 1\n');
  run(path.join(root, 'target/release/portico'), ['host', '--config', configuration, '--socket', socket]);
  for (let tries = 0; !existsSync(socket) && tries < 500; tries++) await sleep(10);
  const flags = ['--import', 'portico/register'];
  const env = { PORTICO_HOST: socket, PORTICO_REQUIRE: '1' };
  // The first one opens the port; whoever waits for it may ask for its prefix at once.
  for (const number of [1, 2]) await member(`http://*:${port}/${number}/`, flags, env);
}

async function nginx() {
  await members();
  const file = path.join(folder, 'nginx.conf');
  writeFileSync(file, `
    daemon off; worker_processes 1; pid ${folder}/pid; worker_rlimit_nofile 65536;
    events { worker_connections 16384; }
    http {
      access_log off; error_log stderr crit; keepalive_requests 1000000000; keepalive_timeout 65; tcp_nodelay on;
      client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
      uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
      upstream one { server 127.0.0.1:${first}; keepalive 128; keepalive_requests 1000000000; }
      upstream two { server 127.0.0.1:${second}; keepalive 128; keepalive_requests 1000000000; }
      server {
        listen 127.0.0.1:${port} backlog=511;
        location /1/ { proxy_pass http://one; }
        location /2/ { proxy_pass http://two; }
      }
    }`);
  run('nginx', ['-c', file, '-p', folder, '-e', 'stderr']);
}

async function haproxy() {
  await members();
  const file = path.join(folder, 'haproxy.cfg');
  writeFileSync(file, `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  use_backend two if { path_beg /2/ }
  default_backend one
backend one
  server one 127.0.0.1:${first} pool-max-conn 128
backend two
  server two 127.0.0.1:${second} pool-max-conn 128
`);
  run('haproxy', ['-db', '-f', file]);
}

async function nodeProxy() {
  await members();
  run(process.execPath, [path.join(here, 'proxy.cjs'), String(port), String(first), String(second)]);
}
