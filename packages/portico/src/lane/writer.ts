/**
 * Writes command records into the buffer that the add-on takes them from.
 *
 * `state[0]` counts the bytes not yet submitted: the add-on takes them after each batch of events and before the event
 * loop sleeps. When the buffer is full, or the program needs the bytes to be out now, `submit` hands them over at once.
 */

import { Buffer } from 'node:buffer';
import * as layout from '../generated/layout';
import type { Engine } from '../native/binding';

/** Size of the command buffer. A larger record, which only a head of that size makes, gets memory of its own. */
const CAPACITY = 256 * 1024;
/** Bodies of this size and more go by reference, not through the buffer. */
export const EXTERNAL_BYTES = 16 * 1024;
/** Below this a loop over the characters beats a call into the runtime. */
const SHORT_STRING = 32;

/** What travels as a body: text with its encoding, or bytes. */
export type Chunk = string | Uint8Array;

/** What `_writev` gets of each write, and what a stream keeps of it. `encoding` of bytes says nothing. */
export interface WrittenChunk {
  chunk: Chunk;
  encoding: BufferEncoding;
}

/** Bytes of a chunk as it goes on the wire. */
export function byteLength(chunk: Chunk, encoding: BufferEncoding | undefined): number {
  if (typeof chunk !== 'string') return chunk.byteLength;
  const isShortText = chunk.length < SHORT_STRING && (encoding === undefined || encoding === 'utf8');
  return isShortText && isAscii(chunk) ? chunk.length : Buffer.byteLength(chunk, encoding);
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}

/** The command buffer of one engine. Lengths are in bytes; nothing blocks, and a full buffer is handed over. */
export class CommandWriter {
  /** What the add-on takes the records from. */
  readonly bytes = Buffer.allocUnsafeSlow(CAPACITY);
  readonly state: Int32Array;
  /** The engine says of large bodies whether the kernel has taken them at once: it runs in the event loop. */
  readonly isToldOfSends: boolean;
  /** What it said of the last, and of all before it on the same connection. */
  hasSent = false;
  /** Where the record in work goes: `bytes`, or memory made for one record that is larger. */
  #target: Buffer = this.bytes;
  #words = wordsOf(this.bytes);
  #engine: Engine | undefined;

  constructor(state: Int32Array, isToldOfSends: boolean) {
    this.state = state;
    this.isToldOfSends = isToldOfSends;
  }

  /** Where submissions go. Called once, when the engine exists. */
  connect(engine: Engine): void {
    this.#engine = engine;
  }

  /** Hands over what has been written; the engine applies and sends it before this returns. */
  submit(): void {
    const length = this.state[0];
    this.state[0] = 0;
    if (length > 0) this.#engine?.submit(length);
  }

  /** The same with the body of the last record, whose connection is `token`. */
  #submitExternal(external: Uint8Array, token: number): void {
    const length = this.state[0];
    this.state[0] = 0;
    const sent = this.isToldOfSends ? this.#engine?.submit(length, external, undefined, token) : this.#engine?.submit(length, external);
    this.hasSent = sent === true;
  }

  /** A response head, with the whole body, its first bytes, or none (`length` 0). */
  respond(token: number, sequence: number, flags: number, status: number, template: number, reason: string, lines: string,
    chunk: Chunk | undefined, length: number, encoding: BufferEncoding | undefined, contentLength: number): void {
    const external = length >= EXTERNAL_BYTES;
    const inline = external ? 0 : length;
    // Twice the head: one that shares its write with the text of an unchunked body is encoded with it, as in Node.
    const at = this.#reserve(layout.CommandRespond.BYTES + (reason.length + lines.length) * 2 + inline + 8);
    const words = this.#words;
    const word = at >> 2;
    let end = at + layout.CommandRespond.BYTES;
    let reasonBytes = 0;
    let lineBytes = 0;
    if (template === 0) {
      const utf8 = typeof chunk === 'string' && (encoding === undefined || encoding === 'utf8')
        && (flags & layout.RESPONSE_FLAG_CHUNKED) === 0;
      reasonBytes = this.#text(reason, end, utf8);
      lineBytes = this.#text(lines, end + reasonBytes, utf8);
      end += reasonBytes + lineBytes;
    }
    if (inline !== 0) this.#chunk(chunk as Chunk, end, length, encoding);
    words[word + layout.RecordHead.KIND] = layout.COMMAND_RESPOND
      | (external ? flags | layout.RESPONSE_FLAG_EXTERNAL : flags) << layout.RecordHead.FLAGS_SHIFT;
    words[word + layout.CommandRespond.TOKEN] = token;
    words[word + layout.CommandRespond.SEQUENCE] = sequence;
    words[word + layout.CommandRespond.STATUS] = status;
    words[word + layout.CommandRespond.TEMPLATE] = template;
    words[word + layout.CommandRespond.REASON_BYTES] = reasonBytes;
    words[word + layout.CommandRespond.FIELDS_BYTES] = lineBytes;
    words[word + layout.CommandRespond.BODY_BYTES] = length;
    words[word + layout.CommandRespond.CONTENT_LENGTH_LOW] = contentLength;
    words[word + layout.CommandRespond.CONTENT_LENGTH_HIGH] = contentLength > 0x7fffffff ? Math.floor(contentLength / 0x100000000) : 0;
    this.#close(at, end + inline, external ? asBytes(chunk as Chunk, encoding) : undefined);
  }

  /** More of a body. */
  data(token: number, sequence: number, flags: number, chunk: Chunk, length: number, encoding: BufferEncoding | undefined): void {
    this.#withPayload(layout.COMMAND_DATA, token, sequence, flags, chunk, length, encoding);
  }

  /** The end of a body, with its trailer lines. */
  end(token: number, sequence: number, flags: number, trailer: string): void {
    this.#withPayload(layout.COMMAND_END, token, sequence, flags, trailer, trailer.length, 'latin1');
  }

  /** An interim response. */
  inform(token: number, sequence: number, flags: number, status: number, reason: string, lines: string): void {
    const at = this.#begin(layout.CommandInform.BYTES, reason.length + lines.length, layout.COMMAND_INFORM, flags, token);
    const word = at >> 2;
    const start = at + layout.CommandInform.BYTES;
    this.#words[word + layout.CommandInform.SEQUENCE] = sequence;
    this.#words[word + layout.CommandInform.STATUS] = status;
    this.#words[word + layout.CommandInform.REASON_BYTES] = this.#text(reason, start, false);
    this.#words[word + layout.CommandInform.FIELDS_BYTES] = this.#text(lines, start + reason.length, false);
    this.#close(at, start + reason.length + lines.length);
  }

  /** Bytes as they are. */
  raw(token: number, flags: number, chunk: Chunk, length: number, encoding: BufferEncoding | undefined): void {
    this.#withPayload(layout.COMMAND_RAW, token, 0, flags, chunk, length, encoding);
  }

  /** Bytes as they are, of several chunks with fewer than `EXTERNAL_BYTES` together. `sequence`: of a stream; 0: of a connection. */
  rawJoined(token: number, sequence: number, flags: number, chunks: readonly WrittenChunk[], length: number): void {
    const at = this.#begin(layout.CommandData.BYTES, length, sequence === 0 ? layout.COMMAND_RAW : layout.COMMAND_DATA, flags, token);
    const word = at >> 2;
    this.#words[word + layout.CommandData.SEQUENCE] = sequence;
    this.#words[word + layout.CommandData.BODY_BYTES] = length;
    let end = at + layout.CommandData.BYTES;
    for (const { chunk, encoding } of chunks) {
      const bytes = byteLength(chunk, encoding);
      this.#chunk(chunk, end, bytes, encoding);
      end += bytes;
    }
    this.#close(at, end);
  }

  /** Bytes to parse as if the peer had sent them. */
  feed(token: number, bytes: Uint8Array): void {
    this.#withPayload(layout.COMMAND_FEED, token, 0, 0, bytes, bytes.byteLength, undefined);
  }

  /** Keeps a head under a number. */
  template(number: number, reason: string, lines: string): void {
    const at = this.#begin(layout.CommandTemplate.BYTES, reason.length + lines.length, layout.COMMAND_TEMPLATE, 0, number);
    const word = at >> 2;
    const start = at + layout.CommandTemplate.BYTES;
    this.#words[word + layout.CommandTemplate.REASON_BYTES] = this.#text(reason, start, false);
    this.#words[word + layout.CommandTemplate.FIELDS_BYTES] = this.#text(lines, start + reason.length, false);
    this.#close(at, start + reason.length + lines.length);
  }

  /** A command that says only of which connection (or listener) it is. */
  simple(kind: number, flags: number, subject: number): void {
    const bytes = layout.CommandTakeOver.BYTES;
    const at = this.#begin(bytes, 0, kind, flags, subject);
    this.#close(at, at + bytes);
  }

  /** A command that says only of which request it is; `PAUSE` and `RESUME` with sequence number 0: of the connection. */
  aboutRequest(kind: number, token: number, sequence: number): void {
    const at = this.#begin(layout.CommandPause.BYTES, 0, kind, 0, token);
    this.#words[(at >> 2) + layout.CommandPause.SEQUENCE] = sequence;
    this.#close(at, at + layout.CommandPause.BYTES);
  }

  /** Of a request's body only the end is told from now on. */
  discard(token: number, sequence: number): void {
    this.aboutRequest(layout.COMMAND_DISCARD, token, sequence);
  }

  /** Gives the answer to a request up. */
  reset(token: number, sequence: number, code: number): void {
    const at = this.#begin(layout.CommandReset.BYTES, 0, layout.COMMAND_RESET, 0, token);
    const word = at >> 2;
    this.#words[word + layout.CommandReset.SEQUENCE] = sequence;
    this.#words[word + layout.CommandReset.CODE] = code;
    this.#close(at, at + layout.CommandReset.BYTES);
  }

  /**
   * What is to be kept of an answer: for how long (milliseconds; undefined: nothing is said of it), names to purge it by,
   * each ended by LF, and of a request that the engine does not know target and field lines.
   */
  cache(token: number, sequence: number, lifetime: number | undefined, tags: string, target: string, lines: string): void {
    const flags = lifetime === undefined ? 0 : layout.CACHE_FLAG_LIFETIME;
    const at = this.#begin(layout.CommandCache.BYTES, tags.length + target.length + lines.length, layout.COMMAND_CACHE, flags, token);
    const word = at >> 2;
    const words = this.#words;
    words[word + layout.CommandCache.SEQUENCE] = sequence;
    words[word + layout.CommandCache.TAGS_BYTES] = tags.length;
    words[word + layout.CommandCache.TARGET_BYTES] = target.length;
    words[word + layout.CommandCache.FIELDS_BYTES] = lines.length;
    words[word + layout.CommandCache.LIFETIME_MS_LOW] = lifetime ?? 0;
    words[word + layout.CommandCache.LIFETIME_MS_HIGH] = Math.floor((lifetime ?? 0) / 0x100000000);
    const start = at + layout.CommandCache.BYTES;
    this.#close(at, start + this.#text(tags + target + lines, start, false));
  }

  /** What is said to a client of HTTP/2 of its session; `subject`: `SESSION_COMMAND_...`. */
  session(token: number, subject: number, stream: number, code: number, bytes: Uint8Array): void {
    const at = this.#begin(layout.CommandSession.BYTES, bytes.byteLength, layout.COMMAND_SESSION, 0, token);
    const word = at >> 2;
    const words = this.#words;
    words[word + layout.CommandSession.SUBJECT] = subject;
    words[word + layout.CommandSession.STREAM] = stream;
    words[word + layout.CommandSession.CODE] = code;
    words[word + layout.CommandSession.DATA_BYTES] = bytes.byteLength;
    const start = at + layout.CommandSession.BYTES;
    this.#chunk(bytes, start, bytes.byteLength, undefined);
    this.#close(at, start + bytes.byteLength);
  }

  /** Promises an answer to a request that the client has not made. */
  push(token: number, sequence: number, method: string, scheme: string, authority: string, path: string, lines: string): void {
    const text = method + scheme + authority + path + lines;
    const at = this.#begin(layout.CommandPush.BYTES, text.length, layout.COMMAND_PUSH, 0, token);
    const word = at >> 2;
    const words = this.#words;
    words[word + layout.CommandPush.SEQUENCE] = sequence;
    words[word + layout.CommandPush.METHOD_BYTES] = method.length;
    words[word + layout.CommandPush.SCHEME_BYTES] = scheme.length;
    words[word + layout.CommandPush.AUTHORITY_BYTES] = authority.length;
    words[word + layout.CommandPush.PATH_BYTES] = path.length;
    words[word + layout.CommandPush.FIELDS_BYTES] = lines.length;
    const start = at + layout.CommandPush.BYTES;
    this.#close(at, start + this.#text(text, start, false));
  }

  /** Inactivity timeout of a connection; 0: none. */
  setTimeout(token: number, milliseconds: number): void {
    const at = this.#begin(layout.CommandSetTimeout.BYTES, 0, layout.COMMAND_SET_TIMEOUT, 0, token);
    this.#words[(at >> 2) + layout.CommandSetTimeout.MILLISECONDS] = milliseconds;
    this.#close(at, at + layout.CommandSetTimeout.BYTES);
  }

  /** TCP options of a connection: 0 off, 1 on, 2 leave as it is. */
  setSocket(token: number, noDelay: number, keepAlive: number, delaySeconds: number): void {
    const at = this.#begin(layout.CommandSetSocket.BYTES, 0, layout.COMMAND_SET_SOCKET, 0, token);
    const word = at >> 2;
    this.#words[word + layout.CommandSetSocket.NO_DELAY] = noDelay;
    this.#words[word + layout.CommandSetSocket.KEEP_ALIVE] = keepAlive;
    this.#words[word + layout.CommandSetSocket.KEEP_ALIVE_SECONDS] = delaySeconds;
    this.#close(at, at + layout.CommandSetSocket.BYTES);
  }

  /** Answer to `SERVER_NAME`: number of a TLS context, 0: the listener's own choice, -1: refuse. */
  serverName(token: number, context: number): void {
    const at = this.#begin(layout.CommandServerName.BYTES, 0, layout.COMMAND_SERVER_NAME, 0, token);
    this.#words[(at >> 2) + layout.CommandServerName.CONTEXT] = context;
    this.#close(at, at + layout.CommandServerName.BYTES);
  }

  /** Answer to `ALPN`: a protocol, none (undefined: refuse), or to go on without (null). */
  alpn(token: number, protocol: string | undefined | null): void {
    const text = protocol ?? '';
    const flags = protocol === null ? layout.ALPN_FLAG_NONE : 0;
    const at = this.#begin(layout.CommandAlpn.BYTES, text.length, layout.COMMAND_ALPN, flags, token);
    const start = at + layout.CommandAlpn.BYTES;
    this.#words[(at >> 2) + layout.CommandAlpn.PROTOCOL_BYTES] = this.#text(text, start, false);
    this.#close(at, start + text.length);
  }

  /** `DATA`, and the other kinds that have its words. */
  #withPayload(kind: number, token: number, sequence: number, flags: number, chunk: Chunk, length: number,
    encoding: BufferEncoding | undefined): void {
    const external = length >= EXTERNAL_BYTES && kind !== layout.COMMAND_END;
    const inline = external ? 0 : length;
    const start = layout.CommandData.BYTES;
    const at = this.#reserve(start + inline + 8);
    const words = this.#words;
    const word = at >> 2;
    if (inline !== 0) this.#chunk(chunk, at + start, length, encoding);
    words[word + layout.RecordHead.KIND] = kind
      | (external ? flags | layout.RESPONSE_FLAG_EXTERNAL : flags) << layout.RecordHead.FLAGS_SHIFT;
    words[word + layout.CommandData.TOKEN] = token;
    words[word + layout.CommandData.SEQUENCE] = sequence;
    words[word + layout.CommandData.BODY_BYTES] = length;
    this.#close(at, at + start + inline, external ? asBytes(chunk, encoding) : undefined);
  }

  /** Begins a record of so many bytes of words and of payload; returns where. */
  #begin(bytes: number, payload: number, kind: number, flags: number, subject: number): number {
    const at = this.#reserve(bytes + payload + 8);
    const words = this.#words;
    words[(at >> 2) + layout.RecordHead.KIND] = kind | flags << layout.RecordHead.FLAGS_SHIFT;
    words[(at >> 2) + layout.RecordHead.TOKEN] = subject;
    return at;
  }

  /** Room for a record; the buffer is handed over first if it has none. */
  #reserve(bytes: number): number {
    const at = this.state[0];
    if (at + bytes <= CAPACITY) return at;
    this.submit();
    if (bytes > CAPACITY) this.#aim(Buffer.allocUnsafeSlow(bytes + 3 & ~3));
    return 0;
  }

  #aim(target: Buffer): void {
    this.#target = target;
    this.#words = wordsOf(target);
  }

  /** Ends a record. With `external` bytes, and if it has memory of its own, it is handed over at once. */
  #close(at: number, end: number, external?: Uint8Array): void {
    const next = (end + 3) & ~3;
    this.#words[(at >> 2) + layout.RecordHead.SIZE] = next - at;
    if (this.#target !== this.bytes) {
      this.#engine?.submit(next, external, this.#target);
      this.hasSent = false;
      this.#aim(this.bytes);
      return;
    }
    this.state[0] = next;
    if (external !== undefined) this.#submitExternal(external, this.#words[(at >> 2) + layout.RecordHead.TOKEN]);
  }

  /** Writes head text; returns the number of bytes. */
  #text(text: string, at: number, utf8: boolean): number {
    const { length } = text;
    if (length === 0) return 0;
    if (utf8) return this.#target.utf8Write(text, at, length * 2);
    this.#target.latin1Write(text, at, length);
    return length;
  }

  #chunk(chunk: Chunk, at: number, length: number, encoding: BufferEncoding | undefined): void {
    if (typeof chunk !== 'string') {
      this.#target.set(chunk, at);
    } else if (encoding === undefined || encoding === 'utf8') {
      this.#utf8(chunk, at, length);
    } else {
      this.#target.write(chunk, at, length, encoding);
    }
  }

  /** Text as UTF-8, whose length in bytes is known: equal to that in characters, it is ASCII. */
  #utf8(text: string, at: number, length: number): void {
    if (length !== text.length) {
      this.#target.utf8Write(text, at, length);
    } else if (length < SHORT_STRING) {
      for (let index = 0; index < length; index++) this.#target[at + index] = text.charCodeAt(index);
    } else {
      this.#target.latin1Write(text, at, length);
    }
  }
}

function wordsOf(bytes: Buffer): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
}

/**
 * A chunk as bytes that the engine may keep until they have been sent. Text is encoded here, once. What other threads may
 * write meanwhile is copied: native code must not read it.
 */
function asBytes(chunk: Chunk, encoding: BufferEncoding | undefined): Uint8Array {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding);
  return chunk.buffer instanceof SharedArrayBuffer ? Buffer.from(chunk) : chunk;
}

declare global {
  interface Buffer {
    /** Undocumented, and what `Buffer.write` calls: no checks, no dispatch on the encoding's name. */
    latin1Write(text: string, offset: number, length: number): number;
    utf8Write(text: string, offset: number, length: number): number;
    latin1Slice(start: number, end: number): string;
  }
}
