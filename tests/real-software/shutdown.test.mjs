// Libraries that end a server gracefully, over http and https, each with a connection that is idle, one that has said
// nothing, and one whose request is in flight.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { eventually } from '../support/clients.mjs';
import { startApp } from '../support/start-app.mjs';

/** Whether a request in flight over https is answered: two of them destroy the socket below TLS, which they take for idle. */
const ANSWERS_OVER_TLS = { stoppable: true, 'http-terminator': true, 'http-shutdown': false, 'http-graceful-shutdown': false, terminus: true };

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
