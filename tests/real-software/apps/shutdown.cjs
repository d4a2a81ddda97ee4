'use strict';
// A server that a library ends gracefully: node shutdown.cjs LIBRARY http|https. SIGUSR2 begins the end.

const { key, cert } = require('../../robustness/lib/certificate.cjs');

const [library, protocol] = process.argv.slice(2);
// Far beyond the test's patience: nothing may need force.
const FORCE_MS = 60_000;
const { createServer } = require(`node:${protocol}`);

let slow;
const server = createServer({ key, cert }, (req, res) => {
  if (req.url === '/slow') {
    slow = res;
    console.log('slow request');
  } else {
    res.end('quick');
  }
});

/** The request in flight is answered when the end has begun. */
function stopping() {
  console.log('stopping');
  setTimeout(() => slow?.end('slow answer'), 50);
}

function stopped(error) {
  console.log(`stopped ${error?.code ?? ''}`.trim());
}

const LIBRARIES = {
  stoppable: () => {
    require('stoppable')(server, FORCE_MS);
    process.once('SIGUSR2', () => {
      console.log(`sockets ${server._pendingSockets.size}`);
      stopping();
      server.stop(stopped);
    });
  },
  'http-terminator': () => {
    const terminator = require('http-terminator').createHttpTerminator({ server, gracefulTerminationTimeout: FORCE_MS });
    process.once('SIGUSR2', () => {
      stopping();
      terminator.terminate().then(() => stopped(), stopped);
    });
  },
  'http-shutdown': () => {
    require('http-shutdown')(server);
    process.once('SIGUSR2', () => {
      stopping();
      server.shutdown(stopped);
    });
  },
  'http-graceful-shutdown': () => {
    require('http-graceful-shutdown')(server, {
      signals: 'SIGUSR2', timeout: FORCE_MS, forceExit: false, preShutdown: async () => stopping(), finally: () => stopped(),
    });
  },
  terminus: () => {
    require('@godaddy/terminus').createTerminus(server, {
      signal: 'SIGUSR2', timeout: FORCE_MS, useExit0: true, healthChecks: { '/health': async () => 'fine' }, beforeShutdown: async () => stopping(), onSignal: async () => {}, onShutdown: async () => stopped(),
    });
  },
};

LIBRARIES[library]();
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
