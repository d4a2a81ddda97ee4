/** Output of a response besides `write` and `end`: heads, interim responses, flushing, sockets. */

import process = require('node:process');
import { STATUS_CODES } from 'node:http';
import { inspect } from 'node:util';
import { checksEarlyHints, writeEarlyHints } from './early-hints';
import { RawAnswer, readInterim } from './raw-answer';
import { nodeError } from '../node/error';
import { warnOfInterim } from './interim-status';
import { headersSent, invalidCharacter, invalidStatusCode } from './errors';
import { kExchange, type Callback, type Exchange } from './exchange';
import { emitClose } from './lifecycle';
import { end } from './response-end';
import { SET_BEFORE, storeHead, type HeaderArgument } from './response-head';
import { flushPending, flushWritten, sendHead, write, writeSocketAhead } from './response-write';
import type { Response } from './server-response';
import { assignSocket, detachSocket } from './socket-turns';
import { defineFramedFields, sendFramed, settle, uncork as uncorkOutput } from './framed-output';
import { destroysInTurn, joinsChunks, kErrored, kOutHeaders, stockResponse } from './stock';

const STATUS_LINE = /^\S* (\d{3}) ?([^\r\n]*)/;
// eslint-disable-next-line no-control-regex
const INVALID_REASON = /[^\t\x20-\x7e\x80-\xff]/;

type Stock = Record<string, (this: unknown, ...args: unknown[]) => unknown>;
const stock = stockResponse as Stock;

/** Defines the output methods. */
export function defineOutput(prototype: object): void {
  const methods: Record<string, unknown> = {
    writeHead, write, end, flushHeaders, cork, uncork, destroy, _send: send, _writeRaw: writeRaw, _flush: flush,
    _storeHeader: storeHeader,
    assignSocket, detachSocket, setTimeout, _finish: prefinish,
  };
  // Node 20 knows it under two names.
  if ('writeHeader' in stock) methods['writeHeader'] = writeHead;
  if (!checksEarlyHints) methods['writeEarlyHints'] = writeEarlyHints;
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
  defineFramedFields(prototype);
}

function writeHead(this: Response, statusCode: number, reason?: unknown, headers?: HeaderArgument): Response {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.writeHead.call(this, statusCode, reason, headers) as Response;
  if (exchange.head !== null) throw headersSent('write');
  const status = statusCode | 0;
  // In a stream, an interim answer in the place of the answer would leave it open for ever.
  if (status < 100 || status > 999 || status < 200 && exchange.connection.isStream) throw invalidStatusCode(statusCode);
  if (typeof reason === 'string') {
    this.statusMessage = reason;
  } else {
    this.statusMessage ||= STATUS_CODES[status] ?? 'unknown';
    headers ??= reason as HeaderArgument;
  }
  if (this.statusCode !== status) this.statusCode = status;
  if (Array.isArray(headers) && !Array.isArray(headers[0]) && headers.length % 2 !== 0) throw oddArray(headers);
  if (exchange.fields !== null || exchange.hasMap) {
    headers = headers === undefined || headers === null ? SET_BEFORE : mergeHeaders(this, headers);
  }
  // Node writes whatever it is into the status line.
  const message = `${this.statusMessage as unknown as string}`;
  if (message !== 'OK' && INVALID_REASON.test(message)) throw invalidCharacter('statusMessage');
  if (status === 204 || status === 304 || status < 200) this._hasBody = false;
  if (status < 200 && exchange.connection.isShared) warnOfInterim(exchange, status);
  // A client that still waits to send its body may do so after this answer: what follows can't be told apart.
  if (this._expect_continue && !this._sent100) this.shouldKeepAlive = false;
  storeHead(this, exchange, status, message, headers);
  return this;
}

function oddArray(headers: unknown[]): Error {
  return nodeError('ERR_INVALID_ARG_VALUE',
    `The argument 'headers' is invalid. Received ${inspect(headers)}`, TypeError);
}

/** Fields given to `writeHead` take the place of those set before. */
function mergeHeaders(response: Response, headers: HeaderArgument): HeaderArgument {
  if (Array.isArray(headers)) {
    const list = Array.isArray(headers[0]) ? (headers as unknown[][]).flat() : headers;
    for (let at = 0; at < list.length; at += 2) response.removeHeader(list[at] as string);
    for (let at = 0; at < list.length; at += 2) {
      if (list[at]) response.appendHeader(list[at] as string, list[at + 1]);
    }
  } else if (headers !== undefined && headers !== null) {
    for (const name of Object.keys(headers)) {
      if (name) response.setHeader(name, headers[name]);
    }
  }
  return SET_BEFORE;
}

function cork(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) stock.cork.call(this);
  else {
    exchange.corked++;
    exchange.wasCorked = true;
  }
}

function uncork(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) stock.uncork.call(this);
  else if (exchange.corked === 0 && exchange.flushScheduled) {
    exchange.flushScheduled = false;
    flushPending(exchange);
  } else if (exchange.corked > 0 && --exchange.corked === 0) {
    // A write before has corked it as well, until the tick ends (Node 26).
    if (!joinsChunks || !exchange.flushScheduled) uncorkOutput(exchange);
  }
}

function flushHeaders(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) {
    stock.flushHeaders.call(this);
    return;
  }
  if (exchange.head === null) this._implicitHeader();
  if (exchange.headSent || exchange.connection.closed || exchange.connection.destroying) return;
  // Node 26 keeps the chunks of a tick, and lets the head out alone.
  if (exchange.pending !== null && !(joinsChunks && this.chunkedEncoding)) flushPending(exchange);
  else sendHead(exchange, 0, undefined, 0, undefined);
}

/**
 * Behind what the response has written. Bytes that are no interim answer go out as they are, if it is the response's turn:
 * they can't wait for it.
 */
function writeUnshared(exchange: Exchange, bytes: Buffer): void {
  flushWritten(exchange);
  writeSocketAhead(exchange);
  const { connection: { token, lane: { writer } }, sequence, isCurrent } = exchange;
  const interim = exchange.headSent && isCurrent ? undefined : readInterim(bytes);
  if (interim !== undefined) writer.inform(token, sequence, 0, interim.status, interim.reason, interim.lines);
  else if (isCurrent) writer.raw(token, 0, bytes, bytes.byteLength, undefined);
}

/** Interim responses: Node's `writeContinue` and its like come here with their bytes. */
function writeRaw(this: Response, data: unknown, encoding?: unknown, callback?: unknown): boolean {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock._writeRaw.call(this, data, encoding, callback) as boolean;
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  const { connection } = exchange;
  if (connection.closed || connection.destroying) return false;
  const bytes = typeof data === 'string' ? Buffer.from(data, encoding as BufferEncoding) : Buffer.from(data as Uint8Array);
  // Behind the head of an answer there can be no interim one.
  if (connection.isStream && exchange.headSent && readInterim(bytes) !== undefined) return false;
  if (connection.isShared) RawAnswer.of(exchange).write(bytes);
  else writeUnshared(exchange, bytes);
  if (typeof callback === 'function') process.nextTick(callback as Callback, null);
  return true;
}

/** Bytes behind the head: Node's own methods end here, and programs know `_send('')` as an old way to flush the head. */
function send(this: Response, data: string | Uint8Array, encoding?: unknown, callback?: unknown, size?: unknown): unknown {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock._send.call(this, data, encoding, callback, size);
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  if (exchange.head === null) return writeRaw.call(this, data, encoding, callback);
  return sendFramed(this, exchange, data, (encoding ?? undefined) as BufferEncoding | undefined, (callback ?? undefined) as Callback | undefined);
}

/** Node's `writeHead` ends here, with a status line and the fields. */
function storeHeader(this: Response, firstLine: string, headers: HeaderArgument): void {
  const exchange = this[kExchange];
  if (exchange === undefined) {
    stock._storeHeader.call(this, firstLine, headers);
    return;
  }
  const [, status, reason] = STATUS_LINE.exec(firstLine) ?? [];
  const given = headers === this[kOutHeaders] ? SET_BEFORE : headers;
  if (Array.isArray(given) && !Array.isArray(given[0]) && given.length % 2 !== 0) throw oddArray(given);
  storeHead(this, exchange, status === undefined ? this.statusCode : Number(status), reason ?? '', given);
}

/** Nothing is kept back for the socket; what has ended says so once more, as in Node. */
function flush(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) stock._flush.call(this);
  else if (this.finished && (this as unknown as { socket: unknown }).socket !== null) this._finish();
}

function prefinish(this: Response): void {
  const exchange = this[kExchange];
  if (exchange === undefined) {
    stock._finish.call(this);
    return;
  }
  const { ended } = exchange;
  // Node's own `end` calls this when it is through; then the end has been told.
  settle(exchange);
  if (exchange.ended === ended) this.emit('prefinish');
}

/** Ends the connection: nothing more of this response can be sent. */
function destroy(this: Response, error?: Error): Response {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.destroy.call(this, error) as Response;
  if (this.destroyed) return this;
  // Node's own `end` has been through.
  if (this.finished) settle(exchange);
  this.destroyed = true;
  this[kErrored] = error;
  if (!exchange.isCurrent) {
    giveUp(this, exchange);
    return this;
  }
  exchange.connection.socket.destroy(error);
  // What was written in this tick goes with the connection, as in Node: it has not left yet.
  flushPending(exchange);
  return this;
}

/**
 * A response that waits for its turn: when that comes, the connection ends instead. (Newer versions of Node forget that,
 * and have the connection wait for ever.)
 */
function giveUp(response: Response, exchange: Exchange): void {
  if (!destroysInTurn) process.nextTick(emitClose, response);
  exchange.pending = null;
  exchange.pendingBytes = 0;
  if (!exchange.ended || destroysInTurn) exchange.connection.destroyAnswer(exchange.sequence);
}

interface TimedSocket {
  setTimeout(milliseconds: number): unknown;
}

function setTimeout(this: Response, milliseconds: number, callback?: () => void): Response {
  const exchange = this[kExchange];
  if (exchange === undefined) return stock.setTimeout.call(this, milliseconds, callback) as Response;
  if (callback) this.on('timeout', callback);
  if (exchange.isCurrent) exchange.connection.socket.setTimeout(milliseconds);
  else this.once('socket', (socket: TimedSocket) => socket.setTimeout(milliseconds));
  return this;
}
