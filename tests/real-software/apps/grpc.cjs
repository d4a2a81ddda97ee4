// A server of @grpc/grpc-js with a method of each kind. Messages are bytes.

const grpc = require('@grpc/grpc-js');

const bytes = (value) => value;
const method = (name, requestStream, responseStream) => ({
  path: `/tests.Calls/${name}`, requestStream, responseStream,
  requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes,
});
const service = {
  unary: method('unary', false, false),
  collect: method('collect', true, false),
  count: method('count', false, true),
  echo: method('echo', true, true),
  wait: method('wait', false, false),
  fail: method('fail', false, false),
};

module.exports = { service };
if (require.main !== module) return;

const server = new grpc.Server();
server.addService(service, {
  unary(call, callback) {
    const trailer = new grpc.Metadata();
    trailer.set('x-length', String(call.request.length));
    const head = new grpc.Metadata();
    head.set('x-asked', call.metadata.get('x-ask')[0] ?? 'no');
    call.sendMetadata(head);
    callback(null, call.request, trailer);
  },
  collect(call, callback) {
    const parts = [];
    call.on('data', (part) => parts.push(part));
    call.on('end', () => callback(null, Buffer.concat(parts)));
  },
  count(call) {
    const last = Number(call.request.toString());
    for (let number = 0; number < last; number += 1) call.write(Buffer.from(String(number)));
    call.end();
  },
  echo(call) {
    call.on('data', (part) => call.write(part));
    call.on('end', () => call.end());
    call.on('cancelled', () => console.log('echo cancelled'));
  },
  wait(call) {
    console.log('waiting');
    call.on('cancelled', () => console.log('wait cancelled'));
  },
  fail(call, callback) {
    callback({ code: grpc.status.FAILED_PRECONDITION, details: 'not now' });
  },
});
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`listening on ${port}`);
});
process.on('SIGUSR2', () => server.tryShutdown(() => {
  console.log('stopped');
  process.exit(0);
}));
