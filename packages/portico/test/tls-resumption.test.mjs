// Resumed sessions: by tickets, by ids, with given keys, across contexts.

import assert from 'node:assert/strict';
import { execFile, fork } from 'node:child_process';
import { constants, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { certificates } from './support/certificates.mjs';
import { connect, describing, https, once, request, serve, tls } from './support/https.mjs';
import { project } from './support/programs.mjs';

const workshop = certificates();
const pair = workshop.issue('server');
const ca = workshop.root.cert;
const reused = describing((socket) => ({ reused: socket.isSessionReused(), peer: socket.getPeerCertificate().subject?.CN, authorized: socket.authorized }));

/** Connects, asks, and gives the server's answer with the session for the next time. */
async function visit(server, options) {
  const sessions = [];
  const socket = tls.connect({ host: '127.0.0.1', port: server.address().port, servername: 'localhost', ca, ...options });
  socket.on('session', (session) => sessions.push(session));
  await once(socket, 'secureConnect');
  const client = socket.isSessionReused();
  const early = socket.getSession();
  const answer = await request(socket);
  return { ...answer.json, client, session: sessions.at(-1) ?? early };
}

for (const version of ['TLSv1.2', 'TLSv1.3']) {
  const range = { minVersion: version, maxVersion: version };

  test(`${version}: a session is resumed, again and again`, async (t) => {
    const server = await serve(t, pair, reused);
    let { session, reused: first } = await visit(server, range);
    assert.equal(first, false);
    for (let round = 0; round < 3; round++) {
      const again = await visit(server, { ...range, session });
      assert.equal(again.reused, true);
      assert.equal(again.client, true);
      session = again.session;
    }
  });

  test(`${version}: servers with the same ticketKeys resume each other's sessions, others don't`, async (t) => {
    const ticketKeys = randomBytes(48);
    const servers = [];
    for (const keys of [ticketKeys, ticketKeys, randomBytes(48)]) servers.push(await serve(t, { ...pair, ticketKeys: keys }, reused));
    const { session } = await visit(servers[0], range);
    assert.equal((await visit(servers[1], { ...range, session })).reused, true);
    assert.equal((await visit(servers[2], { ...range, session })).reused, false);
  });

  test(`${version}: a sessionIdContext of its own keeps sessions apart in spite of equal keys`, async (t) => {
    const ticketKeys = randomBytes(48);
    const one = await serve(t, { ...pair, ticketKeys, sessionIdContext: 'one' }, reused);
    const two = await serve(t, { ...pair, ticketKeys, sessionIdContext: 'two' }, reused);
    const { session } = await visit(one, range);
    assert.equal((await visit(one, { ...range, session })).reused, true);
    // OpenSSL treats it as an error in TLS 1.2 and as a full handshake in TLS 1.3; not resumed in both.
    const other = await visit(two, { ...range, session }).catch(() => ({ reused: false }));
    assert.equal(other.reused, false);
  });

  test(`${version}: setTicketKeys ends older sessions, and getTicketKeys tells the keys`, async (t) => {
    const server = await serve(t, pair, reused);
    const keys = server.getTicketKeys();
    assert.equal(keys.length, 48);
    const { session } = await visit(server, range);
    assert.equal((await visit(server, { ...range, session })).reused, true);
    server.setTicketKeys(randomBytes(48));
    assert.equal((await visit(server, { ...range, session })).reused, false);
    server.setTicketKeys(keys);
    assert.deepEqual(server.getTicketKeys(), keys);
    assert.equal((await visit(server, { ...range, session })).reused, true);
  });

  test(`${version}: a session under a name of addContext and of SNICallback is resumed`, async (t) => {
    const server = https.createServer(pair, reused);
    server.addContext('localhost', workshop.issue(`named-${version}`));
    await serve(t, server);
    const { session } = await visit(server, range);
    assert.equal((await visit(server, { ...range, session })).reused, true);

    const named = workshop.issue(`asked-${version}`);
    const asked = await serve(t, { ...pair, SNICallback: (_name, done) => done(null, tls.createSecureContext(named)) }, reused);
    const first = await visit(asked, range);
    assert.equal((await visit(asked, { ...range, session: first.session })).reused, true);
  });

  test(`${version}: a resumed session still knows the client's certificate`, async (t) => {
    const client = workshop.issue(`client-${version}`, { extensions: 'client' });
    const server = await serve(t, { ...pair, ca, requestCert: true }, reused);
    const first = await visit(server, { ...range, ...client });
    const again = await visit(server, { ...range, ...client, session: first.session });
    assert.deepEqual([again.reused, again.peer, again.authorized], [true, `client-${version}`, true]);
  });
}

test('without tickets nothing is handed out, and TLS 1.2 sessions have ids', async (t) => {
  const server = await serve(t, { ...pair, secureOptions: constants.SSL_OP_NO_TICKET }, reused);
  const socket = await connect(server, { ca, maxVersion: 'TLSv1.2' });
  assert.equal(socket.getTLSTicket(), undefined);
  assert.equal((await request(socket)).json.reused, false);
});

test('https.Agent resumes by itself', async (t) => {
  const server = await serve(t, pair, reused);
  const agent = new https.Agent({ ca, keepAlive: false, servername: 'localhost' });
  const results = [];
  for (let round = 0; round < 3; round++) {
    const client = https.get({ host: '127.0.0.1', port: server.address().port, agent });
    const [response] = await once(client, 'response');
    let text = '';
    for await (const chunk of response) text += chunk;
    results.push(JSON.parse(text).reused);
  }
  assert.equal(results.at(-1), true);
});

const PROGRAM = `
import 'portico/register';
import https from 'node:https';
const { KEY: key, CERT: cert, TICKET_KEYS: ticketKeys } = process.env;
const server = https.createServer({ key, cert, ticketKeys: Buffer.from(ticketKeys, 'hex') }, (req, res) => {
  res.end(JSON.stringify({ reused: req.socket.isSessionReused(), pid: process.pid }));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
`;

/** Port of a server in a process of its own. */
async function serveElsewhere(t, folder, ticketKeys) {
  const env = { ...process.env, KEY: pair.key, CERT: pair.cert, TICKET_KEYS: ticketKeys.toString('hex') };
  const child = fork(join(folder, 'program.mjs'), { env, execArgv: [] });
  t.after(() => child.disconnect());
  const [port] = await once(child, 'message');
  return port;
}

/** One request of openssl's client, with the session of a file, which the new one is written to. */
function openssl(port, file, ...args) {
  return new Promise((resolve) => {
    const child = execFile('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'localhost', '-ign_eof', '-sess_out', file,
      ...args], { timeout: 10_000 }, (_error, stdout) => resolve(stdout));
    child.stdin.on('error', () => {});
    child.stdin.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  });
}

for (const version of ['-tls1_2', '-tls1_3']) {
  test(`processes with the same ticketKeys share sessions, also with openssl's client ${version}`, async (t) => {
    const folder = project(t, { 'program.mjs': PROGRAM });
    const ticketKeys = randomBytes(48);
    const ports = [];
    for (const keys of [ticketKeys, ticketKeys, randomBytes(48)]) ports.push(await serveElsewhere(t, folder, keys));
    const file = join(folder, 'session.pem');
    const first = await openssl(ports[0], file, version);
    assert.match(first, /"reused":false/);
    const again = await openssl(ports[1], `${file}.new`, version, '-sess_in', file);
    assert.match(again, /"reused":true/);
    assert.match(again, /\nReused, TLSv1\.[23]/);
    assert.notEqual(/"pid":(\d+)/.exec(first)[1], /"pid":(\d+)/.exec(again)[1]);
    assert.match(await openssl(ports[2], `${file}.other`, version, '-sess_in', file), /"reused":false/);
  });
}
