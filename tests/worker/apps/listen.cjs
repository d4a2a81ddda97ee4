'use strict';
// An unchanged program: `node listen.cjs FORM` listens on PORT in one of the forms that programs use, and prints what it sees.

const http = require('node:http');

const port = Number(process.env.PORT);
const say = (...words) => console.log(words.map((word) => typeof word === 'string' ? word : JSON.stringify(word)).join(' '));
const handler = (request, response) => response.end(`answered ${request.url}`);
const state = (server) => [server.listening, server.address()];

const FORMS = {
  number: (server) => server.listen(port),
  text: (server) => server.listen(String(port)),
  'number and callback': (server) => server.listen(port, function listening() {
    say('callback', this === server);
  }),
  'number and host': (server) => server.listen(port, '127.0.0.1'),
  'number, host, backlog and callback': (server) => server.listen(port, '127.0.0.1', 100, () => say('callback')),
  'number and all of IPv4': (server) => server.listen(port, '0.0.0.0'),
  'number and all of IPv6': (server) => server.listen(port, '::'),
  'number and a name': (server) => server.listen(port, 'localhost'),
  options: (server) => server.listen({ port }),
  'options of text': (server) => server.listen({ port: String(port), host: '127.0.0.1', backlog: 5 }, () => say('callback')),
  exclusive: (server) => server.listen({ port, exclusive: true }),
};

const SCENES = {
  /** Two servers of one process on one port. */
  twice: (server) => {
    server.listen(port);
    const second = http.createServer(handler);
    second.on('error', ({ code, syscall, port: of, address, errno, message }) => say('second', { code, syscall, port: of, address, errno }, message));
    second.listen(port);
    say('second', second.listening);
  },
  'twice by address': (server) => {
    server.listen(port, '127.0.0.1');
    http.createServer(handler).listen(port, '127.0.0.2', function listening() {
      say('second', ...state(this));
    });
  },
  'listening already': (server) => {
    server.listen(port);
    try {
      server.listen(port);
    } catch (error) {
      say('threw', error.code, error.message);
    }
  },
  'closed at once': (server) => {
    server.listen(port, () => say('callback'));
    server.close((error) => say('closed', error?.code ?? 'well'));
    say('after close', ...state(server));
  },
  'closed and opened again': (server) => {
    server.listen(port);
    server.once('listening', () => server.close(() => {
      say('closed', ...state(server));
      server.listen(port);
    }));
  },
  'aborted by a signal': (server) => {
    const controller = new AbortController();
    server.listen({ port, signal: controller.signal }, () => controller.abort());
  },
  'a name that is none': (server) => server.listen(port, 'no-such-name.invalid'),
  'no port': (server) => {
    for (const wrong of [-1, 65_536, NaN, {}, true]) {
      try {
        server.listen(wrong);
        say('took it');
      } catch (error) {
        say('threw', error.code);
      }
    }
  },
};

module.exports = { forms: Object.keys(FORMS), scenes: Object.keys(SCENES) };

if (require.main === module) {
  const [form] = process.argv.slice(2);
  const server = http.createServer(handler);
  server.on('listening', () => say('listening', ...state(server)));
  server.on('close', () => say('close', ...state(server)));
  server.on('error', ({ code, syscall, hostname }) => say('error', { code, syscall, hostname }));
  process.on('beforeExit', () => say('ends'));
  process.on('SIGTERM', () => server.close());
  if (FORMS[form] === undefined) SCENES[form](server);
  else {
    say('at once', FORMS[form](server) === server, ...state(server));
  }
}
