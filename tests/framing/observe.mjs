/** One response by real sockets: which framing fields are added to those given, how the body is sent, what follows. */
import http from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';

const MARK = 'HTTP/1.1 299 ';
const HOW = {
  whole: (res) => res.end('hello'),
  parts: (res) => { res.write('hel'); res.end('lo'); },
  nothing: (res) => res.end(),
};
/** What the body may look like on the wire. */
const BODIES = [
  ['chunks', /^(?:[0-9a-f]+\r\n[a-z]+\r\n)*0\r\n\r\n$/],
  ['bytes', /^(?:hello)?$/],
];

/**
 * @param {{ method: string, version: string, status: number, fields: [string, string][], written: string }} row
 * @returns {Promise<{ added: string, body: string, connection: string }>}
 */
export async function observe({ method, version, status, fields, written }) {
  const answer = (req, res) => {
    if (req.url === '/mark') return res.writeHead(299).end();
    res.statusCode = status;
    for (const [name, value] of fields) {
      if (value === 'removed') res.removeHeader(name);
      else res.setHeader(name, value);
    }
    return HOW[written](res);
  };
  const server = http.createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect(server.address().port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (part) => {
    text += part;
    if (text.includes(MARK)) socket.end();
  });
  const host = 'Host: a\r\n';
  socket.write(`${method} / HTTP/${version}\r\n${host}${version === '1.0' ? 'Connection: keep-alive\r\n' : ''}\r\n`);
  // Behind a connection's last response it is not answered.
  socket.write(`GET /mark HTTP/1.1\r\n${host}\r\n`);
  socket.on('error', () => socket.destroy());
  await once(socket, 'close');
  server.closeAllConnections();
  server.close();
  const end = text.indexOf('\r\n\r\n');
  const head = text.slice(0, end).toLowerCase().split('\r\n').slice(1);
  const mark = text.indexOf(MARK);
  const rest = text.slice(end + 4, mark === -1 ? undefined : mark);
  const given = fields.map(([name]) => name.toLowerCase());
  const added = head.map((line) => line.split(':')[0])
    .filter((name) => ['content-length', 'transfer-encoding'].includes(name) && !given.includes(name));
  return {
    added: added.join(' ') || '-',
    body: rest === '' ? 'none' : BODIES.find(([, form]) => form.test(rest))?.[0] ?? JSON.stringify(rest),
    connection: mark === -1 ? 'closed' : 'kept',
  };
}
