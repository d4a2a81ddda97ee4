'use strict';
// A process whose registration is refused, for the port is another program's: node refused.cjs PREFIX
// Tells the code, and how many sockets more it has than before.

const { readdirSync, readlinkSync } = require('node:fs');
const http = require('node:http');
const net = require('node:net');

function sockets() {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      return false; // the folder's own
    }
  }).length;
}

http.createServer().listen(process.argv[2], () => {
  const other = net.createServer().listen(0, () => {
    const before = sockets();
    const refused = http.createServer().on('error', ({ code }) => {
      console.log(`error ${code}`);
      setImmediate(() => console.log(`listening ${sockets() - before}`));
    });
    refused.listen(`http://*:${other.address().port}/`);
  });
});
