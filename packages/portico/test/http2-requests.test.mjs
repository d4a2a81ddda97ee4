// Unchanged servers of node:http and node:https over HTTP/2: what requests and responses are.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { connect, once, request, serve } from './support/http2.mjs';

for (const secure of [false, true]) {
  const over = secure ? 'TLS' : 'the clear';

  test(`a request over ${over} is one of node:http, with the version and the authority of HTTP/2`, async (t) => {
    let seen;
    const server = await serve(t, (req, res) => {
      seen = req;
      res.setHeader('X-Answer', ['one', 'two']);
      res.setHeader('Set-Cookie', ['a=1', 'b=2']);
      res.end('hello');
    }, { secure });
    const client = await connect(t, server);
    const { status, headers, body } = await request(client, { ':path': '/path?q=1', 'x-ask': 'ask', cookie: ['a=1', 'b=2'] });
    assert.deepEqual([status, body.toString()], [200, 'hello']);
    assert.equal(headers['x-answer'], 'one, two');
    assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(headers['content-length'], '5');
    assert.ok(Date.parse(headers.date) > 0);
    assert.equal('connection' in headers || 'transfer-encoding' in headers || 'keep-alive' in headers, false);
    const host = `localhost:${server.address().port}`;
    assert.deepEqual([seen.method, seen.url, seen.httpVersion, seen.httpVersionMajor, seen.httpVersionMinor], ['GET', '/path?q=1', '2.0', 2, 0]);
    assert.deepEqual({ ...seen.headers }, { host, 'x-ask': 'ask', cookie: 'a=1; b=2' });
    assert.deepEqual(seen.rawHeaders.slice(0, 2), ['host', host]);
    assert.deepEqual(seen.headersDistinct.host, [host]);
    assert.equal(seen.complete, true);
  });

  test(`bodies and trailers go both ways over ${over}`, async (t) => {
    const server = await serve(t, async (req, res) => {
      res.setHeader('Trailer', 'x-sum');
      let bytes = 0;
      for await (const part of req) {
        bytes += part.length;
        res.write(part);
      }
      res.addTrailers({ 'X-Sum': `${bytes} ${req.trailers['x-client']}` });
      res.end();
    }, { secure });
    const client = await connect(t, server);
    const sent = Buffer.alloc(3_000_000, 'abcdefghij');
    const { body, trailers } = await request(client, { ':method': 'POST' }, sent, { 'x-client': 'yes' });
    assert.equal(body.equals(sent), true);
    assert.equal(trailers['x-sum'], '3000000 yes');
  });

  test(`a hundred streams of one connection over ${over} each get their own answer`, async (t) => {
    const server = await serve(t, (req, res) => setTimeout(() => res.end(req.url), Math.random() * 20), { secure });
    const client = await connect(t, server);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, id) => request(client, { ':path': `/${id}` })));
    assert.deepEqual(answers.map(({ body }) => body.toString()), Array.from({ length: 100 }, (_, id) => `/${id}`));
  });
}

test('fields of the connection are left out of answers, and do not end it', async (t) => {
  const server = await serve(t, (req, res) => {
    res.setHeader('Connection', 'close');
    res.setHeader('Keep-Alive', 'timeout=5');
    res.setHeader('Transfer-Encoding', 'chunked');
    res.setHeader('Upgrade', 'h2c');
    res.statusMessage = 'Fine';
    res.write('a');
    res.end('b');
  });
  const client = await connect(t, server);
  for (let round = 0; round < 3; round++) {
    const { headers, body } = await request(client);
    assert.equal(body.toString(), 'ab');
    assert.deepEqual(Object.keys(headers).sort(), [':status', 'date']);
  }
  assert.equal(client.closed, false);
});

test('HEAD, 204 and 304 have no body', async (t) => {
  const server = await serve(t, (req, res) => {
    res.statusCode = Number(req.url.slice(1));
    res.end('body');
  });
  const client = await connect(t, server);
  for (const [method, status] of [['HEAD', 200], ['GET', 204], ['GET', 304]]) {
    const answer = await request(client, { ':method': method, ':path': `/${status}` });
    assert.deepEqual([answer.status, answer.body.length], [status, 0]);
  }
});

test('interim answers come before the answer', async (t) => {
  const server = await serve(t, (req, res) => {
    res.writeProcessing();
    res.writeEarlyHints({ link: '</style.css>; rel=preload; as=style', 'x-hint': 'yes' }, () => res.end('late'));
  });
  const client = await connect(t, server);
  const { interim, body } = await request(client);
  assert.equal(body.toString(), 'late');
  assert.deepEqual(interim.map((fields) => fields[':status']), [102, 103]);
  assert.equal(interim[1].link, '</style.css>; rel=preload; as=style');
});

test('Expect: 100-continue is answered, or goes to its listeners', async (t) => {
  const server = await serve(t, (req, res) => {
    res.end('request');
  });
  const client = await connect(t, server);
  const ask = async (expect) => {
    const stream = client.request({ ':method': 'POST', expect });
    let continued = false;
    stream.on('continue', () => {
      continued = true;
      stream.end('body');
    });
    const [headers] = await once(stream, 'response');
    let text = '';
    for await (const part of stream.setEncoding('utf8')) text += part;
    return [headers[':status'], continued, text];
  };
  assert.deepEqual(await ask('100-continue'), [200, true, 'request']);
  assert.deepEqual(await ask('200-ok'), [417, false, '']);
  server.on('checkContinue', (req, res) => {
    res.writeContinue();
    req.on('data', (part) => res.write(part)).on('end', () => res.end(' checked'));
  });
  server.on('checkExpectation', (req, res) => res.end('expected'));
  assert.deepEqual(await ask('100-continue'), [200, true, 'body checked']);
  assert.deepEqual(await ask('200-ok'), [200, false, 'expected']);
});

test('a client that resets its stream aborts the request, and no other', async (t) => {
  const log = [];
  let begun;
  const gone = new Promise((resolve) => (begun = resolve));
  const server = await serve(t, (req, res) => {
    if (req.url === '/other') return res.end('other');
    req.on('aborted', () => log.push('aborted'));
    req.on('error', (error) => log.push(`request ${error.code}`));
    req.on('close', () => log.push('request close'));
    res.on('close', () => {
      log.push(`response close ${res.writableFinished}`);
      begun();
    });
    req.socket.on('close', () => log.push('socket close'));
    res.write('first');
    return undefined;
  });
  const client = await connect(t, server);
  const stream = client.request({ ':method': 'POST', ':path': '/' });
  stream.on('error', () => undefined);
  await once(stream, 'response');
  stream.close(8);
  await gone;
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  for (const line of ['aborted', 'request ECONNRESET', 'request close', 'response close false', 'socket close']) assert.ok(log.includes(line), `${line} in ${log}`);
  assert.equal((await request(client, { ':path': '/other' })).body.toString(), 'other');
});

test('a program that destroys a response, a request or its socket resets the stream, and no other', async (t) => {
  let other;
  const server = await serve(t, (req, res) => {
    if (req.url === '/other') return void (other = res);
    res.write('first');
    const victim = { '/response': res, '/request': req, '/socket': req.socket }[req.url];
    return setTimeout(() => victim.destroy(), 5);
  });
  const client = await connect(t, server);
  const waiting = request(client, { ':path': '/other' });
  for (const path of ['/response', '/request', '/socket']) {
    await assert.rejects(request(client, { ':path': path, ':method': 'POST' }, 'body'), (error) => error.code === 'ERR_HTTP2_STREAM_ERROR' || error.rstCode !== undefined, path);
  }
  other.end('unharmed');
  assert.equal((await waiting).body.toString(), 'unharmed');
});

test('each stream has a socket of its own, with the facts of the connection', async (t) => {
  const sockets = [];
  const server = await serve(t, (req, res) => {
    const { socket } = req;
    sockets.push(socket);
    assert.equal(res.socket, socket);
    assert.equal(socket._httpMessage, res);
    res.end(JSON.stringify({
      encrypted: socket.encrypted, authorized: socket.authorized, alpn: socket.alpnProtocol, servername: socket.servername,
      remote: [socket.remoteAddress, socket.remotePort, socket.remoteFamily], local: [socket.localAddress, socket.localPort],
      certificate: socket.getPeerCertificate(), protocol: socket.getProtocol(),
    }));
  }, { secure: true });
  const client = await connect(t, server);
  const facts = JSON.parse((await request(client)).body);
  const { localAddress, localPort } = client.socket;
  assert.deepEqual(facts, {
    encrypted: true, authorized: false, alpn: 'h2', servername: 'localhost', remote: [localAddress, localPort, 'IPv4'],
    local: ['127.0.0.1', server.address().port], certificate: {}, protocol: 'TLSv1.3',
  });
  await request(client);
  assert.notEqual(sockets[0], sockets[1]);
  if (!sockets[0].destroyed) await once(sockets[0], 'close');
  assert.equal(sockets[0].remoteAddress, localAddress);
});

test('a response that its client does not read stops its writer, and no other', async (t) => {
  let written = 0;
  let drained;
  const stopped = new Promise((resolve) => (drained = resolve));
  const server = await serve(t, (req, res) => {
    if (req.url === '/small') return res.end('small');
    const chunk = Buffer.alloc(65_536, 'x');
    const write = () => {
      while (written < 64) {
        written += 1;
        if (!res.write(chunk)) {
          drained();
          return void res.once('drain', write);
        }
      }
      return res.end();
    };
    return write();
  });
  const client = await connect(t, server, { settings: { initialWindowSize: 65_535 } });
  const stream = client.request({ ':path': '/large' });
  await once(stream, 'response');
  await stopped;
  assert.equal((await request(client, { ':path': '/small' })).body.toString(), 'small');
  assert.ok(written < 40, `${written} of 64 chunks were taken`);
  let bytes = 0;
  for await (const part of stream) bytes += part.length;
  assert.equal(bytes, 64 * 65_536);
});

test('a request whose reader waits stops its client, and no other', async (t) => {
  let resume;
  const server = await serve(t, (req, res) => {
    if (req.url === '/small') return res.end('small');
    let bytes = 0;
    req.pause();
    resume = () => req.on('data', (part) => (bytes += part.length)).on('end', () => res.end(`${bytes}`)).resume();
    return undefined;
  });
  const client = await connect(t, server);
  const large = Buffer.alloc(4_000_000);
  const sending = request(client, { ':path': '/large', ':method': 'POST' }, large);
  assert.equal((await request(client, { ':path': '/small' })).body.toString(), 'small');
  resume();
  assert.equal((await sending).body.toString(), '4000000');
});

test('a body that its handler does not read does not stop the connection', async (t) => {
  const server = await serve(t, (req, res) => res.end('unread'));
  const client = await connect(t, server);
  for (let round = 0; round < 20; round++) {
    const answer = await request(client, { ':method': 'POST' }, Buffer.alloc(200_000)).catch((error) => error);
    assert.equal(answer.body?.toString() ?? answer.rstCode ?? 0, answer.body === undefined ? 0 : 'unread');
  }
});

test('a handler that answers late is still told that the response has closed', async (t) => {
  const events = [];
  const server = await serve(t, (req, res) => {
    res.on('finish', () => events.push('finish'));
    res.on('close', () => events.push('close'));
    setTimeout(() => res.end('late', () => events.push('callback')), 5);
  });
  const client = await connect(t, server);
  await request(client);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(events.sort(), ['callback', 'close', 'finish']);
});

test('a timeout of a request is its own', async (t) => {
  const server = await serve(t, (req, res) => {
    if (req.url === '/slow') return void setTimeout(() => res.end('slow'), 200);
    return res.setTimeout(30, () => res.end('timeout'));
  });
  const client = await connect(t, server);
  const slow = request(client, { ':path': '/slow' });
  assert.equal((await request(client, { ':path': '/' })).body.toString(), 'timeout');
  assert.equal((await slow).body.toString(), 'slow');
});

test('close lets what is under way end, and the connection after it', async (t) => {
  let answer;
  const server = await serve(t, (req, res) => (answer = res));
  const client = await connect(t, server);
  const waiting = request(client);
  while (answer === undefined) await new Promise((resolve) => setImmediate(resolve));
  const closed = new Promise((resolve) => server.close(resolve));
  await once(client, 'goaway');
  answer.end('last');
  assert.equal((await waiting).body.toString(), 'last');
  await closed;
});

test('closeAllConnections ends every stream', async (t) => {
  let begun;
  const started = new Promise((resolve) => (begun = resolve));
  let lost;
  const closed = new Promise((resolve) => (lost = resolve));
  const server = await serve(t, (req, res) => {
    res.on('close', lost);
    begun();
  });
  const client = await connect(t, server);
  const stream = client.request({});
  stream.on('error', () => undefined);
  await started;
  server.closeAllConnections();
  await closed;
  await once(stream, 'close');
});

test('HTTP/1.1 clients of the same server are served as ever', async (t) => {
  for (const secure of [false, true]) {
    const server = await serve(t, (req, res) => res.end(req.httpVersion), { secure });
    const { get } = secure ? await import('node:https') : await import('node:http');
    const [response] = await once(get({ port: server.address().port, host: '127.0.0.1', rejectUnauthorized: false, agent: false }), 'response');
    let text = '';
    for await (const part of response) text += part;
    assert.equal(text, '1.1');
  }
});

test('a variable that says neither yes nor no is an error at the start', () => {
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'portico/register', '-e', ''], { env: { ...process.env, PORTICO_HTTP2: 'yes' }, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /ERR_PORTICO_HTTP2/);
  assert.match(stderr, /PORTICO_HTTP2 is "yes": write 1 .* or 0/);
});
