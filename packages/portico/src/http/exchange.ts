/**
 * One request and its response: what the lean `req` and `res` objects look at.
 *
 * The objects that programs get have one field that points here; everything else on them is either a prototype's
 * default, made when first touched, or what the program put there.
 */

import type { Connection } from '../lane/connection';
import type { RawAnswer } from './raw-answer';
import type { Slab } from '../lane/slab';
import type { Head } from '../lane/templates';
import type { Chunk } from '../lane/writer';
import type { Field } from './header-fields';
import type { Framed } from './framed-output';
import type { Request } from './incoming-message';
import type { Pipeline } from './pipeline';
import type { Response } from './server-response';

/** Key of a request's and a response's exchange; absent on objects that no server of ours made. */
export const kExchange = Symbol('portico.exchange');

/** A callback of `write`, `end` and their like. */
export type Callback = (error?: Error | null) => void;

/** Body bytes that wait to be handed over together. */
export interface PendingWrite {
  chunk: Chunk;
  length: number;
  encoding: BufferEncoding | undefined;
  callback: Callback | undefined;
}

/** Who waits for a record to have been handed to the kernel. */
export interface Acknowledgement {
  bytes: number;
  callbacks: Callback[] | null;
  /** The response's last record. */
  end: boolean;
}

/** State of one request and its response. The engine's words for it are connection token and sequence number. */
export class Exchange {
  // Private, so that printing a request does not print the whole engine with its memory.
  readonly #pipeline: Pipeline;
  readonly #connection: Connection;
  readonly #slab: Slab;
  /** Where the request's head lies in the slab: index of the record's first word. */
  readonly at: number;
  readonly sequence: number;
  /** `REQUEST_FLAG_*`. */
  readonly flags: number;
  request!: Request;
  response!: Response;

  // The request.
  method: string;
  url: string | undefined = undefined;
  /** The head as text, once more than one part of it was wanted. */
  text: string | undefined = undefined;
  headers: Record<string, string | string[] | undefined> | undefined = undefined;
  rawTrailers: string[] | undefined = undefined;
  /** Other views of the fields that were asked for or assigned, by the property's name. */
  views: Record<string, unknown> | undefined = undefined;
  /** The request has arrived in full. */
  complete = false;
  /** `_readableState` exists. */
  touched = false;
  /** Body that came before the program touched the stream. */
  body: Buffer[] | null = null;
  bodyBytes = 0;
  /** The engine has been told to hand over no more of the body for now. Ends with the body, there and here. */
  held = false;
  /** The end of the last pipe has stopped the stream, which has not flowed since. */
  unpiped = false;
  abortController: AbortController | undefined = undefined;
  /** Bytes of the body that waited for their reader when the peer's end was last looked at. */
  unreadBytes = Infinity;

  // The response.
  /** Header fields set so far, unless they are in Node's map. */
  fields: Field[] | null = null;
  /** Node's map of header fields exists, and counts. */
  hasMap = false;
  head: Head | null = null;
  /** `RESPONSE_FLAG_*` that the head decided. */
  headFlags = 0;
  contentLength = 0;
  headSent = false;
  /** `end` was called. */
  ended = false;
  /** The last record went with a request for acknowledgement. */
  acknowledged = false;
  /** It gave up its turn before 'finish', since the program would not notice. */
  leftEarly = false;
  /** 'finish' has been, or would have been. */
  finished = false;
  /** Turn of the lane in which the last record was written. */
  endTurn = 0;
  /** What ran then, as `async_hooks` numbers it. */
  endAsyncId = 0;
  pending: PendingWrite[] | null = null;
  pendingBytes = 0;
  /** Body bytes counted for `strictContentLength`. */
  writtenBytes = 0;
  flushScheduled = false;
  corked = 0;
  /** Something of what is pending was written while corked. */
  wasCorked = false;
  /** Bytes handed over and not known to have reached the kernel. */
  unsentBytes = 0;
  needDrain = false;
  /** It was ended behind the end of its socket: nothing of it is sent, and it never finishes. */
  unsendable = false;
  acks: Acknowledgement[] | null = null;
  endCallbacks: Callback[] | null = null;
  /** What was written to its socket past the response, behind a host. */
  raw: RawAnswer | null = null;
  /** What Node's own methods write, where a program has them do it. */
  framed: Framed | null = null;

  constructor(pipeline: Pipeline, slab: Slab, at: number, sequence: number, flags: number, method: string) {
    this.#pipeline = pipeline;
    this.#connection = pipeline.connection;
    this.#slab = slab;
    this.at = at;
    this.sequence = sequence;
    this.flags = flags;
    this.method = method;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** The requests that it is one of. */
  get pipeline(): Pipeline {
    return this.#pipeline;
  }

  /** The memory that the request's head lies in. */
  get slab(): Slab {
    return this.#slab;
  }

  /** The response is the one whose turn it is. */
  get isCurrent(): boolean {
    return this.#pipeline.current === this;
  }
}
