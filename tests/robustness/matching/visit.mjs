// One connection of the load: some requests, pipelined or one by one, each answer checked against its request. A visit
// may read slowly, leave early, or become a tunnel.

import { createRequire } from 'node:module';
import net from 'node:net';
import { ResponseReader } from '../lib/response-reader.mjs';

const { pattern } = createRequire(import.meta.url)('../matrix/pattern.cjs');

const READ_BYTES = 65_536;
const KINDS_WITH_BODY = new Set(['echo', 'read', 'refuse']);
const TEXT_BYTES = 80;

/** The bytes that name a request around the pattern, to be compared with as they come. */
class Expected {
  #segments;
  #offset = 0;
  isRight = true;

  constructor(id, middle) {
    this.#segments = [Buffer.from(`${id}|`), middle, Buffer.from(`|${id}`)];
  }

  add(bytes) {
    for (let from = 0; from < bytes.length && this.isRight;) {
      const segment = this.#segments[0];
      if (segment === undefined) return void (this.isRight = false);
      const length = Math.min(segment.length - this.#offset, bytes.length - from);
      this.isRight &&= segment.compare(bytes, from, from + length, this.#offset, this.#offset + length) === 0;
      from += length;
      this.#offset += length;
      if (this.#offset === segment.length) [this.#segments, this.#offset] = [this.#segments.slice(1), 0];
    }
    return undefined;
  }

  get isComplete() {
    return this.isRight && this.#segments.every(({ length }) => length === 0);
  }
}

/**
 * Visits `port`. `plan`: `{ requests: [{ id, kind, bytes, method }], depth, slowMs, leaveAfterBytes, tunnel }`. Reports to
 * `ledger`: `sent(id)`, `answered(id, status)`, `wrong(id, why)`, `lost(ids, why)`. Resolves when the connection is gone.
 */
export function visit(port, folder, plan, ledger) {
  return new Promise((resolve) => new Visit(port, folder, plan, ledger, resolve));
}

class Visit {
  #socket;
  #folder;
  #plan;
  #ledger;
  #reader;
  #unsent;
  #open = [];
  #expected;
  #text = '';
  #read = 0;
  #left = false;
  #last = 'nothing answered';

  constructor(port, folder, plan, ledger, resolve) {
    this.#folder = folder;
    this.#plan = plan;
    this.#ledger = ledger;
    this.#unsent = [...plan.requests];
    this.#reader = new ResponseReader(this.#sink());
    const onread = { buffer: Buffer.alloc(READ_BYTES), callback: (length, buffer) => this.#received(buffer.subarray(0, length)) };
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true, onread }, () => this.#send());
    let why = 'ended';
    this.#socket.on('error', (error) => (why = error.code));
    this.#socket.on('close', () => {
      if (!this.#left && this.#open.length > 0) ledger.lost(this.#open.map(({ id }) => id), `${why}; ${this.state}`);
      ledger.gone(this);
      resolve();
    });
    ledger.came(this);
  }

  /** Bytes that have come and gone: a visit in which this stands still hangs. */
  get progress() {
    return this.#socket.bytesRead + this.#socket.bytesWritten - this.#socket.writableLength;
  }

  /** The requests that have no answer. */
  get waiting() {
    return this.#open.map(({ id, kind, bytes, method, pid }) => `${method} /${kind}/${bytes}/${id}${pid === undefined ? '' : ` (begun by ${pid})`}`);
  }

  /** Where the visit stands, for messages. */
  get state() {
    const { depth, slowMs } = this.#plan;
    const { bytesRead, bytesWritten, writableLength } = this.#socket;
    return `waits for ${this.waiting.join(', ') || 'the end'}; before: ${this.#last}; depth ${depth}, rests ${slowMs} ms, read ${bytesRead}, wrote ${bytesWritten}, to be written ${writableLength}`;
  }

  /** Gives up, without a loss: it has been reported. */
  leave() {
    this.#left = true;
    this.#socket.destroy();
  }

  #send() {
    while (this.#open.length < this.#plan.depth && this.#unsent.length > 0 && !this.#left) {
      const request = this.#unsent.shift();
      this.#open.push(request);
      this.#ledger.sent(request.id);
      for (const part of bytesOf(request, this.#folder, this.#unsent.length === 0)) this.#socket.write(part);
    }
  }

  #received(bytes) {
    this.#read += bytes.length;
    if (this.#read > this.#plan.leaveAfterBytes) {
      this.leave();
      return false;
    }
    this.#reader.feed(bytes);
    if (this.#plan.slowMs === 0 || this.#socket.destroyed) return true;
    setTimeout(() => this.#socket.resume(), this.#plan.slowMs);
    return false;
  }

  #sink() {
    return {
      methodOf: () => this.#open[0]?.method,
      onInterim: () => undefined,
      onHead: ({ status, fields }) => this.#head(status, fields),
      onBody: (bytes) => {
        if (this.#text.length < TEXT_BYTES) this.#text += bytes.toString('latin1', 0, TEXT_BYTES);
        this.#expected?.add(bytes);
        if (this.#plan.tunnel && this.#expected?.isComplete) this.#tunnelDone();
      },
      onEnd: () => this.#answered(),
      onBroken: (why) => this.#wrong(why),
    };
  }

  #head(status, fields) {
    const request = this.#open[0];
    if (request === undefined) return this.#wrong(`an answer that was not asked for: ${status}`);
    this.#text = '';
    request.status = status;
    request.connection = fields.connection;
    request.pid = fields['x-pid'];
    this.#expected = undefined;
    if (status === 502 || status === 503) return undefined;
    if (fields['x-id'] !== request.id) return this.#wrong(`${status} answers ${fields['x-id'] ?? 'nothing'} instead of ${request.id}`);
    const middle = request.kind === 'read' || request.kind === 'refuse' ? Buffer.from('right') : pattern(request.bytes);
    this.#expected = new Expected(request.id, middle);
    if (status === 101) this.#speak(request);
    return undefined;
  }

  #answered() {
    const request = this.#open.shift();
    if (this.#expected !== undefined && request.method !== 'HEAD' && !this.#expected.isComplete) {
      this.#open.unshift(request);
      return this.#wrong(`the body of ${request.kind} is not its own: ${JSON.stringify(this.#text)}`);
    }
    this.#last = `${request.method} /${request.kind}/${request.bytes} ${request.status} ${request.connection}`;
    this.#ledger.answered(request.id, request.status);
    if (this.#open.length === 0 && this.#unsent.length === 0 && request.connection !== 'close') return this.leave();
    return this.#send();
  }

  #speak({ id, bytes }) {
    this.#socket.write(`${id}|`);
    this.#socket.write(pattern(bytes));
    this.#socket.write(`|${id}`);
  }

  #tunnelDone() {
    this.#ledger.answered(this.#open.shift().id, 101);
    this.leave();
  }

  #wrong(why) {
    this.#ledger.wrong(this.#open[0]?.id, why);
    this.leave();
  }
}

function* bytesOf({ id, kind, bytes, method }, folder, isLast) {
  if (kind === 'tunnel') {
    yield `GET ${folder}tunnel/${bytes}/${id} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    return;
  }
  // A server that closes behind an answer need not read the body of its request: the reset may overtake the answer.
  const closes = isLast && kind !== 'refuse';
  const head = `${method} ${folder}${kind}/${bytes}/${id} HTTP/1.1\r\nHost: a\r\n${closes ? 'Connection: close\r\n' : ''}`;
  if (!KINDS_WITH_BODY.has(kind)) {
    yield `${head}\r\n`;
    return;
  }
  const isChunked = Number(id) % 3 === 0;
  const length = bytes + 2 * id.length + 2;
  yield isChunked
    ? `${head}Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n${id}|`
    : `${head}Content-Length: ${length}\r\n\r\n${id}|`;
  yield pattern(bytes >> 1);
  yield pattern(bytes).subarray(bytes >> 1);
  yield isChunked ? `|${id}\r\n0\r\n\r\n` : `|${id}`;
}
