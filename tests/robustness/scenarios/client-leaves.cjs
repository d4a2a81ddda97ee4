'use strict';
// A client that leaves, by a reset or by an orderly end, and where it stood: what the server side is told, and in which
// order. Who listens differs from program to program, so each place is visited with several kinds of listeners.

const http = require('node:http');
const { listen, close, RawClient, waitFor } = require('../lib/scenario-tools.cjs');

const SETTLE_MS = 40;
const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
const GET = 'GET /get HTTP/1.1\r\nHost: a\r\n\r\n';

const SOCKET_EVENTS = ['end', 'error', 'finish', 'close'];
const REQUEST_EVENTS = ['end', 'aborted', 'error', 'close'];
const RESPONSE_EVENTS = ['prefinish', 'finish', 'error', 'close'];

/** Leaves a body in its middle, and the request unanswered. */
async function leaveBody(req, res, seen) {
  if (req.method === 'GET') return;
  for await (const part of req) if (part.length > 0) break;
  seen.left++;
}

/** Where the client stands: what it sends, perhaps in two parts, when it leaves, and what the handler does. */
const PLACES = {
  before_a_request: { sent: '', ready: (seen) => seen.connections === 1 },
  in_the_middle_of_a_head: { sent: 'GET /get HTTP/1.1\r\nHo', ready: (seen) => seen.connections === 1 },
  between_requests: { sent: GET, ready: (seen) => seen.finished === 1, handler: (req, res) => res.end('x') },
  in_the_middle_of_the_second_head: { sent: `${GET}GET /get HTTP/1.1\r\nHo`, ready: (seen) => seen.finished === 1, handler: (req, res) => res.end('x') },
  in_the_middle_of_a_body: {
    sent: 'POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\npart', ready: (seen) => seen.data > 0,
    handler: (req, res, seen) => req.on('data', (chunk) => (seen.data += chunk.length)),
  },
  in_the_middle_of_a_body_that_is_not_read: {
    sent: 'POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\npart', ready: (seen) => seen.requests === 1,
  },
  behind_a_body_whose_reader_has_left: {
    sent: 'POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\npart', ready: (seen) => seen.left === 1,
    rest: `rest${GET}`, restReady: (seen) => seen.requests === 2, handler: leaveBody,
  },
  behind_a_chunked_body_whose_reader_has_left: {
    sent: 'POST /post HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n', ready: (seen) => seen.left === 1,
    rest: `4\r\nrest\r\n0\r\nX-Sum: 1\r\n\r\n${GET}`, restReady: (seen) => seen.requests === 2, handler: leaveBody,
  },
  before_an_answer: { sent: GET, ready: (seen) => seen.requests === 1 },
  behind_a_body_that_was_read: {
    sent: 'POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody', ready: (seen) => seen.ended === 1,
    handler: (req, res, seen) => req.resume().on('end', () => seen.ended++),
  },
  in_the_middle_of_an_answer: { sent: GET, ready: (seen) => seen.client.received.includes('part'), handler: (req, res) => res.write('part') },
  with_two_requests_waiting: { sent: GET + GET, ready: (seen) => seen.requests === 2 },
};

/** Who listens. Each gets the log, and attaches to what it wants. */
const LISTENERS = {
  all_listeners: {
    connection: true, requests: true, sockets: false, clientError: true,
  },
  no_listener_of_client_errors: { connection: true, requests: true, sockets: false, clientError: false },
  the_handler_and_its_sockets: { connection: false, requests: true, sockets: true, clientError: false },
  only_the_sockets_of_requests: { connection: false, requests: false, sockets: true, clientError: false },
  only_requests_and_answers: { connection: false, requests: true, sockets: false, clientError: false },
  only_answers: { connection: false, requests: false, answers: true, sockets: false, clientError: false },
  only_client_errors: { connection: false, requests: false, sockets: false, clientError: true },
};

const WAYS = {
  reset: (client) => client.socket.resetAndDestroy(),
  end: (client) => client.socket.end(),
};

function watch(log, prefix, emitter, names, state = () => '') {
  for (const name of names) {
    emitter.on(name, (value) => log('events', `${prefix} ${name}`, value instanceof Error ? `${value.code} ${value.message}` : value ?? '', state(emitter)));
  }
}

const stateOfSocket = (socket) => ({ destroyed: socket.destroyed, readable: socket.readable, writable: socket.writable, errored: socket.errored?.code, ended: socket.readableEnded });
const stateOfRequest = (req) => ({ aborted: req.aborted, destroyed: req.destroyed, complete: req.complete, errored: req.errored?.code, socket: req.socket?.destroyed });
const stateOfAnswer = (res) => ({ destroyed: res.destroyed, closed: res.closed, errored: res.errored?.code, socket: res.socket?.destroyed, writable: res.writable, finished: res.writableFinished });

const scenario = (place, way, listeners) => async (log) => {
  const seen = { connections: 0, requests: 0, data: 0, ended: 0, finished: 0, left: 0 };
  const server = http.createServer((req, res) => {
    seen.requests++;
    const number = seen.requests;
    log('events', `request ${number}`);
    if (listeners.sockets) watch(log, `socket of ${number}`, req.socket, SOCKET_EVENTS, stateOfSocket);
    if (listeners.requests) watch(log, `req ${number}`, req, REQUEST_EVENTS, stateOfRequest);
    if (listeners.requests || listeners.answers) watch(log, `res ${number}`, res, RESPONSE_EVENTS, stateOfAnswer);
    place.handler?.(req, res, seen);
    if (res.writableEnded) setImmediate(() => seen.finished++);
  });
  if (listeners.connection) {
    server.on('connection', (socket) => {
      seen.connections++;
      watch(log, 'socket', socket, SOCKET_EVENTS, stateOfSocket);
    });
  }
  if (listeners.clientError) {
    server.on('clientError', (error, socket) => {
      const { message, code, errno, syscall, reason, bytesParsed, rawPacket } = error;
      log('events', 'clientError', { message, code, errno, syscall, reason, bytesParsed, rawPacket: rawPacket === undefined ? typeof rawPacket : String(rawPacket) }, stateOfSocket(socket));
      socket.destroy();
    });
  }
  const client = seen.client = new RawClient(await listen(server), { allowHalfOpen: false });
  if (place.sent !== '') client.write(place.sent);
  const silent = !listeners.connection && place.sent.indexOf('\r\n\r\n') < 0;
  if (silent) await settle();
  else log('client', await waitFor(() => place.ready(seen)));
  if (place.rest !== undefined) {
    client.write(place.rest);
    log('client', await waitFor(() => place.restReady(seen)));
  }
  await settle();
  way(client);
  await client.closed;
  await settle();
  log('wire', client.text());
  await close(server);
};

for (const [placeName, place] of Object.entries(PLACES)) {
  for (const [wayName, way] of Object.entries(WAYS)) {
    for (const [who, listeners] of Object.entries(LISTENERS)) {
      module.exports[`${wayName}_${placeName}_${who}`] = scenario(place, way, listeners);
    }
  }
}
