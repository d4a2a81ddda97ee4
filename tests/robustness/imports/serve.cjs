'use strict';
// Serves one request with the given module and prints the answer and whose class the server has.

module.exports = function serve(name, module) {
  const server = module.createServer((req, res) => res.end(`served by ${name}`));
  server.listen(0, '127.0.0.1', () => {
    // The client of whichever module: the client side stays Node's.
    require('node:http').get({ port: server.address().port, host: '127.0.0.1', agent: false }, (response) => {
      response.setEncoding('utf8').on('data', (text) => console.log(text));
      response.on('end', () => server.close());
    });
  });
  return server;
};
