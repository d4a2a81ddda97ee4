// socket.io as its guide writes it: events, acknowledgements, rooms, binary.

import { createServer } from 'node:http';
import { Server } from 'socket.io';

const httpServer = createServer((req, res) => res.end('not socket.io'));
const io = new Server(httpServer, { perMessageDeflate: true });

io.on('connection', (socket) => {
  socket.emit('welcome', socket.conn.transport.name);
  socket.conn.once('upgrade', () => socket.emit('upgraded', socket.conn.transport.name));
  socket.on('add', (a, b, reply) => reply(a + b));
  socket.on('bytes', (buffer, reply) => reply(Buffer.from(buffer).reverse()));
  socket.on('join', (room, reply) => {
    socket.join(room);
    reply();
  });
  socket.on('say', (room, text) => io.to(room).emit('said', text));
  socket.on('disconnect', (reason) => console.log(`disconnected ${reason}`));
});
httpServer.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${httpServer.address().port}`));
