'use strict';
// `node client.cjs PORT REQUEST`: sends the bytes and prints the answer once the server has closed.

const { RawClient } = require('./scenario-tools.cjs');

const client = new RawClient(Number(process.argv[2]));
client.write(process.argv[3]);
client.all().then((text) => {
  console.log(`client: ${JSON.stringify(text)} ${client.error?.code ?? ''}`);
});
setTimeout(() => client.destroy(), 5000).unref();
