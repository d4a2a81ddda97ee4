// Loaded before the suite's origin server: has it listen on the URL prefix of its port, so that it is behind a host.

import http from 'node:http';

const { listen } = http.Server.prototype;

http.Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, `http://*:${port}/`, ...rest);
};
