/**
 * What a program writes to a tunnel in a stream, until it has answered: listeners of 'upgrade' and 'connect' write the head
 * of an answer of HTTP/1.1 to the socket that they get. It becomes the stream's answer (RFC 8441, section 5: 200 in the place
 * of 101), and what follows is bytes of the tunnel, or the body of a refusal.
 */

import { Buffer } from 'node:buffer';
import * as layout from '../generated/layout';
import { nodeError } from '../node/error';
import type { Stream, TunnelHead } from '../lane/stream';

const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: [^\r\n]*)?\r\n/;
const BEGINNING = 'HTTP/1.';
const HEAD_END = '\r\n\r\n';
/** Fields of an answer that opens a tunnel which have no meaning in a stream. */
const NOT_IN_TUNNEL = /^(?:sec-websocket-accept|content-length|transfer-encoding):[^\r\n]*\r\n/gim;
/** More than a head has. */
const MOST_HEAD_BYTES = 64 * 1024;

/** The answer to one CONNECT, written as bytes. */
export class TunnelAnswer implements TunnelHead {
  readonly #stream: Stream;
  #head = Buffer.alloc(0);
  isComplete = false;
  isRefusal = false;

  constructor(stream: Stream) {
    this.#stream = stream;
  }

  take(bytes: Uint8Array, flags: number): void {
    this.#head = Buffer.concat([this.#head, bytes]);
    const beginning = this.#head.toString('latin1', 0, BEGINNING.length);
    const end = this.#head.indexOf(HEAD_END);
    if (!BEGINNING.startsWith(beginning) || end < 0 && this.#head.byteLength > MOST_HEAD_BYTES) return this.#refuse();
    if (end >= 0) return this.#answer(end + HEAD_END.length, flags);
    // Nothing has left of a write that counts as done when it has.
    if ((flags & layout.RESPONSE_FLAG_ACK) !== 0) process.nextTick(() => this.#stream.written());
  }

  #answer(headBytes: number, flags: number): void {
    const { token, sequence, lane: { writer } } = this.#stream;
    const text = this.#head.toString('latin1', 0, headBytes);
    const rest = this.#head.subarray(headBytes);
    const line = STATUS_LINE.exec(text);
    if (line === null) return this.#refuse();
    const status = Number(line[1]);
    const lines = text.slice(line[0].length, -2);
    this.#head = Buffer.alloc(0);
    if (status < 200 && status !== 101) {
      writer.inform(token, sequence, 0, status, '', lines);
      if (rest.byteLength > 0) this.take(rest, flags);
      else if ((flags & layout.RESPONSE_FLAG_ACK) !== 0) process.nextTick(() => this.#stream.written());
      return;
    }
    this.isComplete = true;
    const opens = status < 300;
    this.isRefusal = !opens;
    writer.respond(token, sequence, flags, status === 101 ? 200 : status, 0, '', opens ? lines.replace(NOT_IN_TUNNEL, '') : lines,
      rest.byteLength === 0 ? undefined : rest, rest.byteLength, undefined, 0);
  }

  #refuse(): void {
    this.#stream.destroy(nodeError('ERR_PORTICO_TUNNEL_ANSWER',
      'A tunnel over HTTP/2 begins with the head of an answer. Write `HTTP/1.1 101 Switching Protocols` or `HTTP/1.1 200 OK`, fields and a blank line first.'));
  }
}
