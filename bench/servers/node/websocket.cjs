'use strict';

const { WebSocketServer } = require('ws');

/** Sends each message back, as its sender wrote it: text or binary. */
exports.attach = function attach(server) {
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('message', (message, binary) => socket.send(message, { binary }));
  });
};
