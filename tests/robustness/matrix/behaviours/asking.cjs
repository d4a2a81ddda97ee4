'use strict';
// Handlers of requests that ask something of their connection: that it be closed, or that it become another protocol's.

/** Without a byte for so long, a tunnel says how many it had, and ends. */
const SILENCE_MS = 150;

const answered = (words) => (request, response) => {
  request.resume();
  request.on('end', () => response.end(words));
};

const close = {
  'closing': answered('read'),
  'closing-unread': (request, response) => response.end('unread'),
  'closing-later-unread': (request, response) => void setTimeout(() => response.end('unread'), 5),
  'closing-head': (request, response) => {
    response.flushHeaders();
    setTimeout(() => response.end('behind the head'), 5);
  },
};

/** The server has no 'upgrade' listener. */
const upgrade = {
  'upgrade-unwanted': answered('stays'),
  'upgrade-unwanted-unread': (request, response) => response.end('stays'),
};

/** Listeners of 'upgrade'. */
const accepted = {
  'upgraded': (request, socket, head) => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tunnel\r\n\r\n');
    let bytes = head.length;
    let timer;
    const rest = () => {
      clearTimeout(timer);
      timer = setTimeout(() => socket.end(`tunnel of ${bytes}`), SILENCE_MS);
    };
    socket.on('data', (part) => {
      bytes += part.length;
      rest();
    });
    rest();
  },
  'upgrade-refused': (request, socket) => {
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno');
  },
  'upgrade-refused-later': (request, socket) => {
    socket.on('error', () => undefined);
    setTimeout(() => socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno'), 15);
  },
  'upgrade-destroyed': (request, socket) => void socket.destroy(),
};

module.exports = { close, upgrade, accepted };
