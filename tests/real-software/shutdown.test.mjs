// Libraries that end a server gracefully, over http and https, each with a connection that is idle, one that has said
// nothing, and one whose request is in flight.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { eventually } from '../support/clients.mjs';
import { plain } from '../support/mode.mjs';
import { startApp } from '../support/start-app.mjs';

/** Whether a request in flight over https is answered: two of them destroy the socket below TLS, which they take for idle. */
const ANSWERS_OVER_TLS = { stoppable: true, 'http-terminator': true, 'http-shutdown': false, 'http-graceful-shutdown': false, terminus: true };

/** The same over HTTP/2: in the clear two of them destroy the socket of the connection, which none of its requests has. */
const ANSWERS_OVER_HTTP2 = { stoppable: true, 'http-terminator': true, 'http-shutdown': false, 'http-graceful-shutdown': false, terminus: true };
const REQUESTS = 200;

/** One request's body over HTTP/2; what has come if it is reset. */
async function ask(session, path) {
  const stream = session.request({ ':path': path });
  let text = '';
  stream.setEncoding('utf8').on('data', (part) => (text += part)).on('error', () => {});
  await once(stream, 'close');
  return text;
}

/** A client that keeps what it got. */
class Client {
  constructor(port, protocol) {
    const options = { port, host: '127.0.0.1', rejectUnauthorized: false };
    this.text = '';
    this.closed = false;
    this.socket = protocol === 'https' ? tls.connect(options) : net.connect(options);
    this.ready = once(this.socket, protocol === 'https' ? 'secureConnect' : 'connect');
    this.socket.on('data', (bytes) => (this.text += bytes)).on('error', () => {}).on('close', () => (this.closed = true));
  }

  get(path) {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
}

for (const library of Object.keys(ANSWERS_OVER_TLS)) {
  for (const protocol of ['http', 'https']) {
    describe(`${library} over ${protocol}`, () => {
      test('ends idle connections, answers what is in flight, and lets the process go', async (t) => {
        const { port, child, output } = await startApp(t, 'real-software/apps/shutdown.cjs', { args: [library, protocol] });
        const idle = new Client(port, protocol);
        const busy = new Client(port, protocol);
        const silent = new Client(port, protocol);
        t.after(() => [idle, busy, silent].forEach(({ socket }) => socket.destroy()));
        await Promise.all([idle.ready, busy.ready, silent.ready]);
        idle.get('/');
        await eventually(() => idle.text.endsWith('quick'), 'the first answer');
        busy.get('/slow');
        await eventually(() => output().includes('slow request'), 'the slow request arrives');
        const exited = once(child, 'exit');
        child.kill('SIGUSR2');
        await eventually(() => idle.closed && silent.closed && busy.closed, 'all connections are closed');
        assert.equal(busy.text.includes('slow answer'), protocol === 'http' || ANSWERS_OVER_TLS[library], busy.text);
        const [status, signal] = await exited;
        assert.deepEqual([status, signal], [0, null], output());
        assert.match(output(), /^stopped$/m);
      });
    });
  }
}

for (const library of Object.keys(ANSWERS_OVER_HTTP2)) {
  for (const protocol of ['http', 'https']) {
    test(`${library} over HTTP/2 of ${protocol}: ends, answers what is in flight, and keeps nothing of requests that are over`, { skip: plain }, async (t) => {
      const { port, child, output } = await startApp(t, 'real-software/apps/shutdown.cjs', { args: [library, protocol], env: { PORTICO_HTTP2: '1' } });
      const [idle, busy] = [1, 2].map(() => http2.connect(`${protocol}://127.0.0.1:${port}`, { rejectUnauthorized: false }).on('error', () => {}));
      t.after(() => [idle, busy].forEach((session) => session.destroy()));
      for (let number = 0; number < REQUESTS; number += 1) assert.equal(await ask(idle, '/'), 'quick');
      const slow = ask(busy, '/slow');
      await eventually(() => output().includes('slow request'), 'the slow request arrives');
      const exited = once(child, 'exit');
      child.kill('SIGUSR2');
      const answer = await slow;
      if (ANSWERS_OVER_HTTP2[library]) assert.equal(answer, 'slow answer', output());
      assert.deepEqual(await exited, [0, null], output());
      assert.match(output(), /^stopped$/m);
      // The two connections, and the request in flight; one that is over may not have closed its socket yet.
      if (library === 'stoppable') assert.ok(Number(/^sockets (\d+)$/m.exec(output())[1]) <= 4, output());
    });
  }
}
