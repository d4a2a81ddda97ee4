/** HTTP/2 as the lane sees it, under the API of `node:http2`: a connection is a session, a request a stream of it. */

import { constants } from 'node:http2';
import { EventEnd, EventRequest, EventSession, Field, RangeWords, RecordHead, REQUEST_FLAG_COMPLETE, SCHEME_HTTPS } from '../generated/layout';
import { METHODS } from '../generated/tables';
import type { Connection } from '../lane/connection';
import { sharedConnection } from '../lane/errors';
import type { Protocol } from '../lane/protocol';
import type { Slab } from '../lane/slab';
import type { LaneSocket } from '../lane/socket';
import { drainTicks } from '../lane/ticks';
import { channels } from './channels';
import { objectOf } from './fields';
import { ServerHttp2Stream } from './server-stream';
import { ServerHttp2Session } from './session';

const { NGHTTP2_FLAG_END_HEADERS, NGHTTP2_FLAG_END_STREAM } = constants;

/** One connection's session and streams. */
export class SessionStreams implements Protocol {
  readonly #connection: Connection;
  #session: ServerHttp2Session | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The session, made and announced when it is first needed. */
  get session(): ServerHttp2Session {
    return this.#session ?? this.#begin();
  }

  #begin(): ServerHttp2Session {
    const { server } = this.#connection.server;
    const session = this.#session = new ServerHttp2Session(this.#connection);
    session.on('stream', (...args) => void server.emit('stream', ...args));
    session.on('error', (error) => void server.emit('sessionError', error, session));
    const { timeout } = server;
    if (timeout > 0) {
      session.setTimeout(timeout, () => {
        if (!session.destroyed && !session.closed && !server.emit('timeout', session as never)) session.destroy();
      });
    }
    server.emit('session', session);
    return session;
  }

  beginRequest(at: number): void {
    const connection = this.#connection;
    if (connection.closed || connection.destroying) return;
    connection.resource.runInAsyncScope(openStream, undefined, this.session, connection, at);
  }

  receiveBody(sequence: number, chunk: Buffer, isLast: boolean): void {
    this.#connection.resource.runInAsyncScope(receive, undefined, this.session.stream(sequence), chunk, isLast);
    drainTicks();
  }

  endBody(at: number): void {
    const { slab } = this.#connection.lane;
    const stream = this.session.stream(slab.words[at + EventEnd.SEQUENCE]);
    if (stream === undefined) return;
    const raw = readFields(slab, at, EventEnd.WORDS, slab.words[at + EventEnd.FIELD_COUNT]);
    if (raw.length > 0) stream.emit('trailers', objectOf(raw), NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, raw);
    stream.receiveEnd();
  }

  flushedOf(sequence: number, count: number): void {
    const { session } = this;
    const stream = session.stream(sequence);
    if (stream !== undefined) stream.flushed(count);
    else session.flushedLingering(sequence, count);
  }

  reset(sequence: number, code: number): void {
    this.session.stream(sequence)?.receiveClose(code, true);
  }

  sessionEvent(at: number): void {
    const { slab, slab: { words } } = this.#connection.lane;
    const start = (at << 2) + words[at + EventSession.BYTES_OFFSET];
    const bytes = Buffer.from(slab.bytes.subarray(start, start + words[at + EventSession.BYTES_LENGTH]));
    this.session.frames.receive(words[at + EventSession.SUBJECT], words[at + EventSession.STREAM], words[at + EventSession.CODE], bytes);
  }

  abandon(): void {
    this.#session?.lose();
  }

  attachSocket(socket: LaneSocket): void {
    socket._readableState.flowing = true;
    socket.on('error', (error) => void this.#session?.destroy(error));
    socket.on('close', () => this.abandon());
  }

  get isAnswering(): boolean { return this.#session !== undefined; }
  readonly isAwaitingEnd = false;
  readonly isReceiving = false;
  readonly message = null;

  writeAnswer(): never {
    throw sharedConnection('its streams are what is written to');
  }

  // What a connection of streams is never told, or asked.
  flush(): void { /* Streams keep nothing back. */ }
  flushWritten(): void { /* Likewise. */ }
  finishNext(): boolean { return false; }
  receivedSoFar(): void { /* Streams are taken over, not the connection. */ }
  flushed(): void { /* Named. */ }
  clientError(): void { /* The engine ends the connection by itself. */ }
  requestTimedOut(): void { /* The engine resets the stream. */ }
  peerEnded(): void { /* The connection closes. */ }
  unreadEnd(): void { /* All is read. */ }
  socketResumed(): void { /* Bodies are stopped each by itself. */ }
  dropUnread(): boolean { return false; }
  endAnswer(): boolean { return false; }
}

function openStream(session: ServerHttp2Session, connection: Connection, at: number): void {
  const { slab, slab: { words } } = connection.lane;
  const isComplete = (words[at + RecordHead.KIND] >>> RecordHead.FLAGS_SHIFT & REQUEST_FLAG_COMPLETE) !== 0;
  const raw = requestFields(slab, at);
  const headers = objectOf(raw);
  const stream = new ServerHttp2Stream(session, words[at + EventRequest.SEQUENCE], headers, isComplete);
  session.adopt(stream);
  channels?.created.publish({ stream, headers });
  channels?.start.publish({ stream, headers });
  session.emit('stream', stream, headers, NGHTTP2_FLAG_END_HEADERS | (isComplete ? NGHTTP2_FLAG_END_STREAM : 0), raw);
}

function receive(stream: ServerHttp2Stream | undefined, chunk: Buffer, isLast: boolean): void {
  if (chunk.byteLength > 0) stream?.receive(chunk);
  if (isLast) stream?.receiveEnd();
}

/** A request's fields, pseudo fields first. */
function requestFields(slab: Slab, at: number): string[] {
  const { words } = slab;
  const method = METHODS[words[at + EventRequest.METHOD] & EventRequest.METHOD_MASK];
  const fields = readFields(slab, at, EventRequest.WORDS, words[at + EventRequest.FIELD_COUNT]);
  // A method that has no number.
  const own = fields[0] === ':method' ? fields.splice(0, 2)[1] : undefined;
  const authority = text(slab, at, EventRequest.AUTHORITY_OFFSET);
  const raw = [':method', own ?? method];
  // Where the client has sent none, it is that of the `host` field.
  if (authority !== '' && !isOfField(words, at)) raw.push(':authority', authority);
  // A plain CONNECT has neither (RFC 9113, section 8.5).
  if (method === 'CONNECT' && fields[0] !== ':protocol') return raw.concat(fields);
  const isSecure = (words[at + EventRequest.SCHEME] >>> EventRequest.SCHEME_SHIFT & EventRequest.SCHEME_MASK) === SCHEME_HTTPS;
  raw.push(':scheme', isSecure ? 'https' : 'http', ':path', text(slab, at, EventRequest.TARGET_OFFSET));
  return raw.concat(fields);
}

/** Whether the authority of a request lies in one of its fields. */
function isOfField(words: Int32Array, at: number): boolean {
  const end = at + EventRequest.WORDS + words[at + EventRequest.FIELD_COUNT] * Field.WORDS;
  for (let field = at + EventRequest.WORDS; field < end; field += Field.WORDS) {
    if (words[field + Field.VALUE_OFFSET] === words[at + EventRequest.AUTHORITY_OFFSET]) return true;
  }
  return false;
}

function text({ words, bytes }: Slab, at: number, range: number): string {
  const start = (at << 2) + words[at + range + RangeWords.OFFSET];
  return bytes.latin1Slice(start, start + words[at + range + RangeWords.LENGTH]);
}

/** Names and values of a record's table, alternating. */
function readFields({ words, bytes }: Slab, at: number, table: number, count: number): string[] {
  const raw: string[] = [];
  const start = at << 2;
  for (let field = at + table; field < at + table + count * Field.WORDS; field += Field.WORDS) {
    const name = start + words[field + Field.NAME_OFFSET];
    const value = start + words[field + Field.VALUE_OFFSET];
    raw.push(bytes.latin1Slice(name, name + (words[field + Field.NAME_LENGTH] & Field.NAME_LENGTH_MASK)),
      bytes.latin1Slice(value, value + words[field + Field.VALUE_LENGTH]));
  }
  return raw;
}

/** Begins streams under the API of `node:http2`. */
export function beginSession(connection: Connection): Protocol {
  connection.hasStreams = true;
  return new SessionStreams(connection);
}
