'use strict';
// Handlers that answer without the whole body: it is not read, half read, or left in some other way.

const { Writable } = require('node:stream');

const tick = () => new Promise((resolve) => setImmediate(resolve));
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const sink = () => new Writable({ write: (part, encoding, done) => void setImmediate(done) });

function refuse(response, status, fields = {}) {
  response.writeHead(status, { 'Content-Length': 7, ...fields });
  response.end('refused');
}

/** Resolves once the parser has the whole body, or after two seconds: some bodies never come. */
async function complete(request) {
  for (let round = 0; round < 200 && !request.complete; round++) await wait(10);
}

module.exports = {
  'unread-200': (request, response) => response.end('early'),
  'unread-401': (request, response) => refuse(response, 401),
  'unread-413-close': (request, response) => refuse(response, 413, { Connection: 'close' }),
  'unread-chunked': (request, response) => {
    response.write('ear');
    response.end('ly');
  },
  'unread-immediate-200': (request, response) => void setImmediate(() => response.end('early')),
  'unread-immediate-413': (request, response) => void setImmediate(() => refuse(response, 413)),
  'unread-microtask-401': async (request, response) => {
    await undefined;
    refuse(response, 401);
  },
  'unread-await-200': async (request, response) => {
    await tick();
    await tick();
    response.end('early');
  },
  'unread-timer-401': async (request, response) => {
    await wait(15);
    refuse(response, 401);
  },
  'unread-timer-413-close': async (request, response) => {
    await wait(15);
    refuse(response, 413, { Connection: 'close' });
  },
  'unread-complete-200': async (request, response) => {
    await complete(request);
    response.end('late');
  },
  'unread-head-then-end': async (request, response) => {
    response.writeHead(200);
    response.write('first');
    await wait(15);
    response.end('last');
  },
  'half-read-pause': (request, response) => {
    request.once('data', () => {
      request.pause();
      setTimeout(() => response.end('half'), 5);
    });
    request.on('end', () => response.writableEnded || response.end('none'));
  },
  'half-read-data-off': (request, response) => {
    const onData = () => {
      request.off('data', onData);
      setImmediate(() => response.end('half'));
    };
    request.on('data', onData);
    request.on('end', () => response.writableEnded || response.end('none'));
  },
  'half-read-readable': (request, response) => {
    request.once('readable', () => {
      request.read(10);
      setTimeout(() => response.end('half'), 5);
    });
  },
  'paused': (request, response) => {
    request.pause();
    setTimeout(() => response.end('paused'), 5);
  },
  'unpiped': (request, response) => {
    const target = sink();
    request.pipe(target);
    setTimeout(() => {
      request.unpipe(target);
      response.end('unpiped');
    }, 5);
  },
  'unpiped-resumed': (request, response) => {
    const target = sink();
    request.pipe(target);
    setTimeout(() => {
      request.unpipe(target);
      request.resume();
      response.end('unpiped');
    }, 5);
  },
  'paused-listener': (request, response) => {
    request.on('data', () => undefined);
    request.pause();
    response.end('paused');
  },
  'paused-listener-immediate': (request, response) => {
    request.on('data', () => undefined);
    request.pause();
    setImmediate(() => response.end('paused'));
  },
  'half-read-readable-at-once': (request, response) => {
    request.once('readable', () => {
      request.read(10);
      response.end('half');
    });
  },
  'read-nothing': (request, response) => {
    request.read(0);
    setTimeout(() => response.end('nothing'), 5);
  },
  'resumed-paused': (request, response) => {
    request.resume();
    setTimeout(() => {
      request.pause();
      response.end('paused');
    }, 3);
  },
  'unpiped-at-once': (request, response) => {
    const target = sink();
    request.pipe(target);
    request.unpipe(target);
    request.resume();
    refuse(response, 413);
  },
  'unpiped-by-listener': (request, response) => {
    const target = sink();
    request.pipe(target);
    request.on('data', () => {
      if (response.writableEnded) return;
      request.unpipe(target);
      refuse(response, 413);
    });
    request.on('end', () => response.writableEnded || response.end('none'));
  },
  'pipe-destroyed': (request, response) => {
    const target = sink().on('error', () => undefined);
    request.pipe(target);
    setTimeout(() => {
      target.destroy();
      response.end('destroyed');
    }, 5);
  },
  'answered-then-flows': (request, response) => {
    request.on('data', () => undefined);
    response.end('early');
  },
  'iterator-left': async (request, response) => {
    for await (const part of request) if (part.length > 0) break;
    response.end('left');
  },
  'iterator-left-kept': async (request, response) => {
    for await (const part of request.iterator({ destroyOnReturn: false })) if (part.length > 0) break;
    response.end('left');
  },
  'iterator-left-answered': async (request, response) => {
    for await (const part of request) {
      if (part.length === 0) continue;
      response.end('left');
      break;
    }
    if (!response.writableEnded) response.end('none');
  },
  'set-encoding-unread': (request, response) => {
    request.setEncoding('utf8');
    setTimeout(() => response.end('encoded'), 5);
  },
  'listens-to-end': (request, response) => {
    request.on('end', () => undefined);
    setTimeout(() => response.end('listened'), 5);
  },
  'touches-socket': (request, response) => {
    request.socket.setNoDelay(true);
    setTimeout(() => response.end(typeof request.socket.remotePort), 5);
  },
  'answered-then-read': (request, response) => {
    response.end('early');
    setTimeout(() => request.on('data', () => undefined), 5);
  },
  'answered-then-paused': (request, response) => {
    request.on('data', () => undefined);
    response.end('early');
    request.pause();
  },
  'answered-then-destroyed': (request, response) => void setTimeout(() => {
    response.end('early');
    request.destroy();
  }, 5),
  'destroyed-then-answered': (request, response) => {
    request.on('error', () => undefined);
    request.destroy();
    setImmediate(() => response.end('gone'));
  },
  'destroyed-at-end': (request, response) => {
    request.resume();
    request.on('end', () => {
      request.destroy();
      response.end('read');
    });
  },
};
