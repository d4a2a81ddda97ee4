// A server of @connectrpc/connect-node on node:http2, with a method of each kind. It speaks Connect, gRPC and gRPC-web.

import http2 from 'node:http2';
import { ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { calls } from './connect-service.mjs';

const handler = connectNodeAdapter({
  routes: (router) => router.service(calls, {
    unary: ({ value }) => ({ value: `${value}!` }),
    async collect(values) {
      const parts = [];
      for await (const { value } of values) parts.push(value);
      return { value: parts.join(',') };
    },
    async* count({ value }) {
      for (let number = 0; number < Number(value); number += 1) yield { value: `${number}` };
    },
    async* echo(values) {
      for await (const { value } of values) yield { value };
    },
    wait: (_, context) => new Promise((_resolve, reject) => {
      context.signal.addEventListener('abort', () => {
        console.log('wait aborted');
        // The deadline, which client and server may see in any order, or the client's cancellation.
        reject(ConnectError.from(context.signal.reason));
      });
    }),
  }),
});
const server = http2.createServer(handler);
server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
