// Client certificates that one name of a port demands: whatever a client calls itself in the handshake, it gets nothing of
// a name whose demand it has not met.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import tls from 'node:tls';
import { freePort } from '../support/free-port.mjs';
import { startHost } from '../support/start-host.mjs';

const folder = mkdtempSync(join(tmpdir(), 'portico-names-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const LIMIT_MS = 20_000;

/** A certificate that signed itself: a server's, or a client's that is its own authority. */
function issue(name) {
  const [key, file] = ['key', 'crt'].map((kind) => join(folder, `${name}.${kind}`));
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', `/CN=${name}`,
    '-addext', `subjectAltName=DNS:${name}`, '-keyout', key, '-out', file], { stdio: 'ignore' });
  return { key, file };
}

const [server, staff, partner] = ['server', 'staff', 'partner'].map(issue);
const both = join(folder, 'both.crt');
writeFileSync(both, readFileSync(staff.file, 'utf8') + readFileSync(partner.file, 'utf8'));
const own = ({ key, file }) => ({ key: readFileSync(key), cert: readFileSync(file) });
const STAFF = own(staff);
const PARTNER = own(partner);

let copies = 0;

/** A `[[certificate]]` for names, or for all others, with what it demands. */
function section(port, names, demand = '') {
  // One file may be named once for a port.
  const file = join(folder, `server-${(copies += 1)}.crt`);
  writeFileSync(file, readFileSync(server.file));
  const list = names.length > 0 ? `names = ${JSON.stringify(names)}\n` : '';
  return `[[certificate]]\nport = ${port}\n${list}certificate = "${file}"\nkey = "${server.key}"\n${demand}\n`;
}

const requires = ({ file }) => `client_ca = "${file}"\nrequire_client_certificate = true\n`;
const asks = ({ file }) => `client_ca = "${file}"\nrequest_client_certificate = true\n`;

/** The names of most tests: open to all, for the staff, for the staff too, for partners, where the staff is only asked. */
const sections = (port) => [
  section(port, []),
  section(port, ['open.test']),
  section(port, ['staff.test'], requires(staff)),
  section(port, ['also-staff.test'], requires(staff)),
  section(port, ['partners.test', '*.partners.test'], requires(partner)),
  section(port, ['asked.test'], asks(staff)),
].join('');

/** Connects; `name` is the server name of the handshake, none if it is undefined. */
async function connect(port, name, options = {}) {
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...(name !== undefined && { servername: name }), ...options });
  socket.setTimeout(LIMIT_MS, () => socket.destroy(new Error('no answer in time')));
  socket.firstSession = once(socket, 'session'); // in TLS 1.2 it comes with the handshake
  socket.firstSession.catch(() => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** Sends a request on a connection, and gives status and body of the answer. */
async function ask(socket, head) {
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  let text = '';
  for (;;) {
    const match = /^HTTP\/1\.1 (\d+) [^]*?\r\ncontent-length: (\d+)[^]*?\r\n\r\n([^]*)$/i.exec(text);
    if (match !== null && match[3].length >= Number(match[2])) return { status: Number(match[1]), body: match[3] };
    const [event, ...values] = await Promise.race([
      once(socket, 'data').then(([data]) => ['data', data]),
      once(socket, 'close').then(() => ['close']),
    ]);
    const [, last] = /^HTTP\/1\.1 (\d+) [^]*?\r\n\r\n/.exec(text) ?? [];
    if (event === 'close' && last !== undefined && !/content-length/i.test(text)) return { status: Number(last) };
    assert.equal(event, 'data', `the connection ended after ${JSON.stringify(text)}`);
    text += values[0].toString('latin1');
  }
}

/** Status of one request on a connection of its own; 0 where there is no connection. */
async function status(port, name, host, { target = '/', version = '1.1', method = 'GET', fields = [], ...options } = {}) {
  let socket;
  try {
    socket = await connect(port, name, options);
    const head = [`${method} ${target} HTTP/${version}`, ...(host === undefined ? [] : [`Host: ${host}`]), ...fields];
    return (await ask(socket, head)).status;
  } catch (error) {
    // A client of TLS 1.3 believes itself connected before it is refused.
    if (socket === undefined || error.code?.startsWith('ERR_SSL') || /ended|ECONNRESET/.test(error.message)) return 0;
    throw error;
  } finally {
    socket?.destroy();
  }
}

async function serve(t, configuration) {
  const port = await freePort();
  const host = await startHost(t, { configuration: configuration(port) });
  await host.member('host/apps/secure.cjs', `https://*:${port}/`);
  return { port, host };
}

describe('a name that demands a client certificate', () => {
  test('is closed to connections that were made for another name', { timeout: 120_000 }, async (t) => {
    const { port, host } = await serve(t, sections);
    const rows = [
      // Server name of the handshake, host of the request, client's certificate, status.
      ['open.test', 'open.test', {}, 200],
      ['staff.test', 'staff.test', {}, 0],
      ['staff.test', 'staff.test', STAFF, 200],
      ['staff.test', 'staff.test', PARTNER, 0],
      ['open.test', 'staff.test', {}, 421],
      [undefined, 'staff.test', {}, 421],
      ['unknown.test', 'staff.test', {}, 421],
      // Having the right certificate does not help where it was not asked for.
      ['open.test', 'staff.test', STAFF, 421],
      // Other ways to write the name.
      ['open.test', 'STAFF.test', {}, 421],
      ['open.test', 'staff.test.', {}, 421],
      ['open.test', `staff.test:${port}`, {}, 421],
      ['open.test', 'Staff.Test.:1', {}, 421],
      ['open.test', 'open.test', { target: 'https://staff.test/' }, 421],
      ['open.test', 'open.test', { target: `HTTPS://STAFF.test.:${port}/x` }, 421],
      ['open.test', undefined, { version: '1.0', target: 'https://staff.test/' }, 421],
      ['open.test', 'staff.test', { method: 'OPTIONS', target: '*' }, 421],
      ['open.test', 'open.test', { method: 'CONNECT', target: 'staff.test:443' }, 421],
      ['open.test', 'staff.test', { fields: ['Connection: Upgrade', 'Upgrade: websocket'] }, 421],
      ['open.test', 'staff.test', { method: 'POST', fields: ['Content-Length: 2'] }, 421],
      // The target's name decides who gets the request (RFC 9112, 3.2.2); applications read that of `Host`.
      ['staff.test', 'open.test', { ...STAFF, target: 'https://staff.test/' }, 200],
      ['staff.test', 'staff.test', { ...STAFF, target: 'https://open.test/' }, 200],
      ['open.test', 'Open.test.', { target: 'https://open.test/' }, 200],
      ['open.test', '', { target: 'https://open.test/' }, 200],
      ['open.test', '[::1]', { target: 'https://open.test/' }, 200],
      ['open.test', 'staff.test', { target: 'https://open.test/' }, 421],
      ['open.test', `Staff.Test.:${port}`, { target: 'https://open.test/' }, 421],
      ['open.test', 'staff.test', { target: 'https://open.test/', version: '1.0' }, 421],
      ['open.test', 'staff.test', { method: 'CONNECT', target: 'open.test:443' }, 421],
      ['staff.test', 'partners.test', { ...STAFF, target: 'https://staff.test/' }, 421],
      ['staff.test', 'staff.test', { ...STAFF, target: 'https://partners.test/' }, 421],
      ['open.test', 'staff%2etest', { target: 'https://open.test/' }, 400],
      ['open.test', 'open.test, staff.test', { target: 'https://open.test/' }, 400],
      // A certificate that other authorities vouch for is none here, nor is one that need not be shown.
      ['partners.test', 'staff.test', PARTNER, 421],
      ['staff.test', 'partners.test', STAFF, 421],
      ['a.partners.test', 'b.partners.test', PARTNER, 200],
      ['partners.test', 'a.partners.test', PARTNER, 200],
      ['open.test', 'a.partners.test', {}, 421],
      ['open.test', 'A.Partners.Test', {}, 421],
      ['open.test', 'a.b.partners.test', {}, 200],
      ['asked.test', 'staff.test', STAFF, 421],
      ['asked.test', 'staff.test', {}, 421],
      // As much or more, by the same authorities.
      ['also-staff.test', 'staff.test', STAFF, 200],
      ['staff.test', 'asked.test', STAFF, 200],
      // What an application sees of a certificate, it believes its own authorities to have judged.
      ['partners.test', 'asked.test', PARTNER, 421],
      ['open.test', 'asked.test', {}, 421],
      // No name loses what demands nothing.
      ['staff.test', 'open.test', STAFF, 200],
      ['open.test', '127.0.0.1', {}, 200],
      ['open.test', `[::1]:${port}`, {}, 200],
      ['open.test', undefined, { version: '1.0' }, 200],
      [undefined, '127.0.0.1', {}, 200],
      ['open.test', 'staff.test.example', {}, 200],
      // Nor is a host that is none let through.
      ['open.test', 'staff.test, open.test', {}, 400],
      ['open.test', 'staff%2etest', {}, 400],
      ['open.test', '', {}, 200],
    ];
    for (const [name, asked, options, expected] of rows) {
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
        const got = await status(port, name, asked, { maxVersion, ...options });
        assert.equal(got, expected, `${name} asks for ${asked} (${JSON.stringify({ ...options, key: undefined, cert: undefined })}, ${maxVersion})`);
      }
    }
    const counted = rows.filter(([, , , expected]) => expected === 421).length * 2;
    assert.equal((await host.status()).misdirected, counted);
    assert.match((await host.cli('status')).stdout, new RegExp(`${counted} requests for another host or scheme than their connection's \\(421\\)`));
  });

  test('is closed to names of other certificates where the first one of the port demands', { timeout: 60_000 }, async (t) => {
    const { port } = await serve(t, (number) => section(number, [], requires(staff)) + section(number, ['open.test']) + section(number, ['partners.test'], requires(partner)));
    const rows = [
      [undefined, 'anything.test', STAFF, 200],
      [undefined, '127.0.0.1', STAFF, 200],
      [undefined, undefined, { ...STAFF, version: '1.0' }, 200],
      [undefined, 'anything.test', {}, 0],
      ['open.test', 'open.test', {}, 200],
      // What no certificate names has the demand of the first one.
      ['open.test', 'anything.test', {}, 421],
      ['open.test', '127.0.0.1', {}, 421],
      ['open.test', '[::1]', {}, 421],
      ['open.test', undefined, { version: '1.0' }, 421],
      ['open.test', undefined, { version: '1.0', target: 'https://open.test/' }, 200],
      ['open.test', 'anything.test', { target: 'https://open.test/' }, 421],
      ['open.test', '', { target: 'https://open.test/' }, 421],
      ['partners.test', 'anything.test', PARTNER, 421],
      [undefined, 'partners.test', STAFF, 421],
      [undefined, 'open.test', STAFF, 200],
    ];
    for (const [name, asked, options, expected] of rows) assert.equal(await status(port, name, asked, options), expected, `${name} asks for ${asked}`);
  });

  test('is closed to each request by itself, and the connection goes on', { timeout: 60_000 }, async (t) => {
    const { port } = await serve(t, sections);
    const socket = await connect(port, 'open.test');
    const statuses = [];
    for (const name of ['open.test', 'staff.test', 'open.test', 'partners.test']) statuses.push((await ask(socket, ['GET / HTTP/1.1', `Host: ${name}`])).status);
    socket.destroy();
    assert.deepEqual(statuses, [200, 421, 200, 421]);
  });

  test('is closed to sessions of other names', { timeout: 60_000 }, async (t) => {
    const { port } = await serve(t, sections);
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      const session = async (name, options) => {
        const socket = await connect(port, name, { maxVersion, ...options });
        assert.equal((await ask(socket, ['GET / HTTP/1.1', `Host: ${name}`])).status, 200);
        const [ticket] = await socket.firstSession;
        socket.destroy();
        return ticket;
      };
      const open = await session('open.test');
      assert.equal(await status(port, 'staff.test', 'staff.test', { maxVersion, session: open }), 0);
      assert.equal(await status(port, 'open.test', 'staff.test', { maxVersion, session: open }), 421);
      const known = await session('staff.test', STAFF);
      assert.equal(await status(port, 'partners.test', 'partners.test', { maxVersion, session: known }), 0);
      assert.equal(await status(port, 'open.test', 'staff.test', { maxVersion, session: known }), 421);
      assert.equal(await status(port, 'staff.test', 'staff.test', { maxVersion, session: known }), 200);
    }
  });

  test('demands from the next connection on what a reload says', { timeout: 60_000 }, async (t) => {
    const { port, host } = await serve(t, (number) => section(number, []) + section(number, ['open.test']) + section(number, ['staff.test']));
    assert.equal(await status(port, 'open.test', 'staff.test'), 200);
    const before = await connect(port, 'open.test');
    assert.equal((await ask(before, ['GET / HTTP/1.1', 'Host: staff.test'])).status, 200);
    writeFileSync(host.file, sections(port));
    await host.cli('reload');
    assert.equal(await status(port, 'open.test', 'staff.test'), 421);
    assert.equal(await status(port, 'staff.test', 'staff.test', STAFF), 200);
    // An open connection keeps what it had.
    assert.equal((await ask(before, ['GET / HTTP/1.1', 'Host: staff.test'])).status, 200);
    before.destroy();
  });
});
