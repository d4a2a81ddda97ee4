'use strict';
// Answers, requests and sockets that end otherwise than by an ordinary end(): given up, cut off, thrown over.

const http = require('node:http');
const { listen, close, RawClient } = require('../lib/scenario-tools.cjs');

const GET = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

module.exports = {
  a_queued_answer_that_is_destroyed_ends_the_connection_in_its_turn: async (log) => {
    for (const begun of [false, true]) {
      const server = http.createServer((req, res) => {
        if (req.url === '/slow') return void setTimeout(() => res.end('slow'), 40);
        res.on('close', () => log('res', 'close'));
        res.on('finish', () => log('res', 'finish'));
        if (begun) res.write('begun');
        setTimeout(() => {
          res.destroy();
          log('res', res.destroyed, res.writableEnded);
        }, 1);
      });
      // Newer versions of Node leave the connection waiting.
      const newer = !/'socket'/.test(String(http.OutgoingMessage.prototype.destroy));
      const client = new RawClient(await listen(server));
      client.write(GET('/slow') + GET('/destroyed'));
      const text = await client.until('slow');
      if (!newer) await client.all();
      log('wire', text.endsWith('slow') || newer, client.ended || newer);
      client.destroy();
      await close(server);
    }
  },
};
