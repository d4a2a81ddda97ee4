// One process of the chat: node --import portico/register chat-server.mjs PREFIX
//
// PREFIX is http://*:8080/1/ or the like. A room is a path below it; whatever the room, the page is the same, and the
// page's WebSocket goes to the very URL that it was loaded from.

import { readFileSync } from 'node:fs';
import http from 'node:http';
import { WebSocketServer } from 'ws';
import { Rooms } from './lib/rooms.mjs';

const prefix = process.argv[2];
const base = new URL(prefix.replace(/\/\/[+*]/, '//localhost')).pathname;
const ROOM = /^[\w-]{1,40}$/;

const files = new Map(['room.html', 'chat.js', 'chat.css'].map((name) => [
  name, readFileSync(new URL(`public/${name}`, import.meta.url)),
]));
const rooms = new Rooms();

/** The room that a URL names; undefined if it names none. */
function roomOf(url) {
  const { pathname } = new URL(url, 'http://localhost');
  const name = pathname.startsWith(base) ? pathname.slice(base.length) : '';
  return ROOM.test(name) ? name : undefined;
}

const server = http.createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  const name = pathname.slice(base.length);
  if (name === '' || pathname.length < base.length) {
    answer(response, 200, 'application/json', JSON.stringify({ process: process.pid, rooms: rooms.list() }));
  } else if (name === 'chat.js') {
    answer(response, 200, 'text/javascript; charset=utf-8', files.get(name));
  } else if (name === 'chat.css') {
    answer(response, 200, 'text/css; charset=utf-8', files.get(name));
  } else if (roomOf(request.url) !== undefined) {
    answer(response, 200, 'text/html; charset=utf-8', files.get('room.html'));
  } else {
    answer(response, 404, 'text/plain; charset=utf-8', 'A room has a name of letters, digits, _ and -.\n');
  }
});

function answer(response, status, type, body) {
  response.writeHead(status, { 'Content-Type': type, 'X-Content-Type-Options': 'nosniff' });
  response.end(body);
}

const sockets = new WebSocketServer({ noServer: true, maxPayload: 16 * 1024 });
server.on('upgrade', (request, socket, head) => {
  const room = roomOf(request.url);
  if (room === undefined || !sameOrigin(request)) {
    socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
    return;
  }
  sockets.handleUpgrade(request, socket, head, (webSocket) => rooms.enter(room, webSocket));
});

/** Pages of other sites must not speak in this chat with their visitors' address. */
function sameOrigin({ headers: { origin, host } }) {
  return origin === undefined || new URL(origin).host === host;
}

server.on('error', (error) => {
  console.error(`${prefix}: ${error.message}`);
  process.exit(1);
});
server.listen(prefix, () => process.send?.('listening'));

// Ctrl-C reaches every process of the terminal: the one that started this one says when to stop.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {
  rooms.close();
  server.close(() => process.exit(0));
});
process.on('disconnect', () => process.exit(0));
