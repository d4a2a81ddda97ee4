import { once } from 'node:events';
import net from 'node:net';

/** A port that nothing listens on. */
export async function freePort() {
  const server = net.createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
