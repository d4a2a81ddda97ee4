/**
 * What a program writes to the socket of a request, past its response, behind a host.
 *
 * The connection is shared with other servers, so no bytes may go out as they are: a client could read them as another
 * server's answer. But an interim answer, and one whole answer that ends the connection, can be told for what they are.
 * They are read here and handed over as records, which the host judges like any other. The rest is refused.
 *
 * States: a head is awaited; its body follows, of a known length or until the end; ended. Once the head has come, the
 * response counts as begun: its `end` ends what was written so, and it has no body of its own.
 */

import { Buffer } from 'node:buffer';
import * as layout from '../generated/layout';
import type { Exchange } from './exchange';
import { sharedConnection } from '../lane/errors';
import type { CommandWriter } from '../lane/writer';

const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: ([^\r\n]*))?\r\n/;
const INTERIM = /^HTTP\/1\.1 (1\d\d)(?: ([^\r\n]*))?\r\n((?:[^\r\n]+\r\n)*)\r\n$/;
const BEGINNING = 'HTTP/1.';
const CODED = /^transfer-encoding:/im;
const FRAMED = /^(content-length|transfer-encoding):/im;
const HEAD_END = '\r\n\r\n';

/** The answer to one request, written as bytes. Its methods write commands. */
export class RawAnswer {
  readonly exchange: Exchange;
  /** Bytes of a head that is not complete. */
  #head = Buffer.alloc(0);
  #hasBegun = false;
  #ended = false;

  /** The one of this exchange, made when first asked for. Throws where the response has begun. */
  static of(exchange: Exchange): RawAnswer {
    if (exchange.raw !== null) return exchange.raw;
    if (exchange.headSent || exchange.pending !== null || exchange.ended) throw sharedConnection('the answer has begun');
    return exchange.raw = new RawAnswer(exchange);
  }

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  /** Takes bytes. Throws `ERR_PORTICO_SHARED_CONNECTION` for what can't be an answer; nothing of them has gone then. */
  write(bytes: Uint8Array): void {
    const { connection: { token, lane: { writer } }, sequence } = this.exchange;
    if (this.#ended || this.exchange.ended) throw sharedConnection('the answer has been given');
    if (this.#hasBegun) {
      writer.data(token, sequence, 0, bytes, bytes.byteLength, undefined);
      return;
    }
    let rest = Buffer.concat([this.#head, bytes]);
    const heads: ParsedHead[] = [];
    while (rest.byteLength > 0 && heads.at(-1)?.isInterim !== false) {
      const head = parseHead(rest);
      if (head === undefined) break;
      heads.push(head);
      rest = rest.subarray(head.bytes);
    }
    for (const { isInterim, status, reason, lines } of heads) if (isInterim) writer.inform(token, sequence, 0, status, reason, lines);
    const final = heads.at(-1);
    if (final === undefined || final.isInterim) this.#head = rest;
    else this.#begin(final, rest, writer);
  }

  /** Throws where the response can't go on by itself: half a head is dropped then, and the next attempt works. */
  allowResponse(hasBody: boolean): void {
    if (this.#hasBegun && hasBody) throw sharedConnection('the answer was written to its socket, so its response has no body');
    this.#dropHalfHead();
  }

  /** Our side ends: the answer too, and behind it the connection. False: there is none. Throws where half a head is. */
  end(): boolean {
    this.#dropHalfHead();
    if (!this.#hasBegun || this.#ended || this.exchange.ended) return this.#hasBegun;
    const { connection: { token, closeFlag, lane: { writer } }, sequence } = this.exchange;
    this.#ended = true;
    writer.data(token, sequence, layout.RESPONSE_FLAG_END | closeFlag, '', 0, 'latin1');
    return true;
  }

  #dropHalfHead(): void {
    if (this.#head.byteLength === 0) return;
    this.#head = Buffer.alloc(0);
    throw sharedConnection('the head that was written to it is not complete');
  }

  #begin(head: ParsedHead, body: Buffer, writer: CommandWriter): void {
    const { connection: { token, closeFlag }, sequence, response } = this.exchange;
    this.#hasBegun = true;
    this.#head = Buffer.alloc(0);
    this.exchange.head = { status: head.status, reason: head.reason, lines: head.lines, bits: 0, contentLength: 0, template: 0 };
    this.exchange.headSent = response._last = true;
    writer.respond(token, sequence, closeFlag, head.status, 0, head.reason, head.lines,
      body.byteLength === 0 ? undefined : body, body.byteLength, undefined, 0);
  }
}

/** An interim answer that bytes are, all of them. */
export function readInterim(bytes: Buffer): { status: number; reason: string; lines: string } | undefined {
  const found = INTERIM.exec(bytes.toString('latin1'));
  return found === null ? undefined : { status: Number(found[1]), reason: found[2] ?? '', lines: found[3] };
}

interface ParsedHead {
  status: number;
  reason: string;
  /** Field lines. */
  lines: string;
  isInterim: boolean;
  bytes: number;
}

/** The head at the front of `bytes`; undefined: it is not complete. */
function parseHead(bytes: Buffer): ParsedHead | undefined {
  const beginning = bytes.toString('latin1', 0, BEGINNING.length);
  if (!BEGINNING.startsWith(beginning)) throw sharedConnection('only an answer can be written to it');
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const text = bytes.toString('latin1', 0, end + HEAD_END.length);
  const line = STATUS_LINE.exec(text);
  const status = Number(line?.[1]);
  if (line === null || status === 101 || !(status >= 100)) {
    throw sharedConnection('only an answer can be written to it; \'upgrade\' and \'connect\' give it away as a byte stream');
  }
  const lines = text.slice(line[0].length, -2);
  // RFC 9110, 8.6, and RFC 9112, 6.1.
  const framed = status < 200 ? FRAMED.exec(lines) : null;
  if (framed !== null) throw sharedConnection(`an interim answer has no body, so it can't have the field '${framed[1]}'; leave it out`);
  if (status >= 200 && CODED.test(lines)) throw sharedConnection('an answer in chunks can only be written by its response');
  return { status, reason: line[2] ?? '', lines, isInterim: status < 200, bytes: text.length };
}
