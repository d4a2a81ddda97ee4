/**
 * The servers of the cells in which two Node processes share a port by URL prefix: Portico's host, and the reverse
 * proxies that people put before node:http today. See servers/prefixes/group.mjs.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BENCH, BUILD, ROOT } from './paths.mjs';

const GROUP = path.join(BENCH, 'servers/prefixes/group.mjs');

/** For one Node. @param {{ id: string, path: string }} node */
export function prefixServers(node) {
  const servers = [];
  if (existsSync(path.join(ROOT, 'target/release/portico'))) {
    servers.push({
      ...group(node, 'host'), id: `host${node.id}`, title: `Portico host + 2 Node ${node.id}`, base: `node${node.id}`,
    });
  }
  const nginx = versionOf('nginx', ['-v'], /\/([\d.]+)/);
  if (nginx) servers.push({ ...group(node, 'nginx'), title: `nginx ${nginx} + 2 node:http ${node.id}` });
  const haproxy = versionOf('haproxy', ['-v'], /version ([\d.]+)/);
  if (haproxy) servers.push({ ...group(node, 'haproxy'), title: `HAProxy ${haproxy} + 2 node:http ${node.id}` });
  if (existsSync(path.join(BENCH, 'node_modules/http-proxy'))) {
    servers.push({ ...group(node, 'http-proxy'), title: `http-proxy + 2 node:http ${node.id}` });
  }
  return servers;
}

function group(node, kind) {
  return {
    id: `${kind}+node${node.id}`,
    node: node.id,
    sameBytes: kind === 'host',
    command: (cell, port) => cell.handler === 'prefixes' && {
      file: node.path,
      args: [GROUP, kind, String(port), path.join(BUILD, `${kind}-${port}`)],
      cwd: BENCH,
    },
  };
}

function versionOf(file, args, pattern) {
  try {
    const text = execFileSync('sh', ['-c', `${file} ${args.join(' ')} 2>&1`], { encoding: 'utf8' });
    return pattern.exec(text)?.[1];
  } catch {
    return undefined;
  }
}
