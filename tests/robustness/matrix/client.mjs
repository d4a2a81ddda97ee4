// Sends a row's requests on a connection of its own and notes what comes: each answer, and how the connection ends.

import { createRequire } from 'node:module';
import net from 'node:net';
import { ResponseReader } from '../lib/response-reader.mjs';

const { pattern, Tally } = createRequire(import.meta.url)('./pattern.cjs');

/** Without a byte in either direction for so long, a row hangs, if its server's event loop turns and it stays so. */
const SILENCE_MS = 2_500;
const LAST_CHANCE_MS = 1_000;
/** However much comes: a row that takes longer than this hangs. */
const LIMIT_MS = 60_000;
/** Without a byte for so long, a row is no load any more. */
const QUIET_MS = 500;
/** How long a client waits for 100 (Continue) before it sends its body without. */
const CONTINUE_MS = 600;
const TEXT_BYTES = 200;
const UPLOAD_BYTES = 70_000;
const READ_BYTES = 65_536;
const REST_MS = 10;
/** How long a client rests that reads late or stalls; keepAliveTimeout of a hasty server is 400 ms. */
const STALL_MS = 700;
const BEHIND_MS = 20;
const SPLIT_MS = 15;
const SLOW_MS = 2;
/** How long what a client has sent may take to be seen before the client leaves. */
const SEEN_MS = 40;
const DATE = /^date: /i;

const tick = () => new Promise((resolve) => setImmediate(resolve));
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Runs `row` against `endpoint` ({ port, folder }), with `id` as the number that the server knows it by. Resolves with
 * `{ 'answer 1', 'head 1', ..., end }`: short texts that can be compared. Calls `onQuiet` when it only waits, and `ping`,
 * which resolves when the server's process has had a turn, before it says that the row hangs and where it rests between parts.
 */
export function runRow(row, id, endpoint, { onQuiet, ping }) {
  return new RowClient(row, id, endpoint, ping).run(onQuiet);
}

class RowClient {
  #row;
  #id;
  #plan;
  #socket;
  #reader;
  #answers = [];
  #interim = '';
  #end;
  #wakers = [];

  #late;
  #ping;

  constructor(row, id, endpoint, ping) {
    this.#ping = ping;
    this.#row = row;
    this.#id = id;
    this.#late = row.reader === 'late';
    this.#plan = planOf(row, id, endpoint.folder);
    this.#reader = new ResponseReader(this.#sink());
    this.#socket = this.#connect(endpoint.port);
  }

  async run(onQuiet) {
    const watcher = this.#watchForHang(onQuiet);
    await this.#send().catch(() => undefined);
    while (this.#end === undefined) await this.#change();
    clearInterval(watcher);
    this.#socket.destroy();
    return this.#observed();
  }

  #connect(port) {
    const onread = { buffer: Buffer.alloc(READ_BYTES), callback: (length, buffer) => this.#received(buffer.subarray(0, length)) };
    // An address of its own: a host has limits by client address.
    const localAddress = addressOf(Number(this.#id.replace(/\D/g, '')));
    const socket = net.connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true, noDelay: true, onread });
    socket.on('end', () => {
      this.#reader.end();
      this.#ended('ended');
    });
    socket.on('error', (error) => this.#ended(error.code === 'EPIPE' || error.code === 'ECONNRESET' ? 'reset' : error.code));
    socket.on('close', () => this.#ended('closed'));
    return socket;
  }

  #received(bytes) {
    this.#reader.feed(bytes);
    if (this.#end !== undefined || !this.#late && this.#row.reader !== 'slow') return true;
    setTimeout(() => this.#socket.resume(), this.#late ? STALL_MS : REST_MS);
    this.#late = false;
    return false;
  }

  #sink() {
    let tally;
    let text = '';
    return {
      methodOf: (index) => this.#plan.methods[index],
      onInterim: ({ status }) => {
        this.#interim += `${status} `;
        this.#wake();
      },
      onHead: ({ status, lines }) => {
        tally = new Tally();
        text = '';
        const head = lines.filter((line) => !DATE.test(line)).join(' | ');
        this.#answers.push({ status, head, interim: this.#interim, body: 'cut short', trailers: '' });
        this.#interim = '';
        this.#wake();
      },
      onBody: (bytes) => {
        if (text.length < TEXT_BYTES) text += bytes.toString('latin1', 0, TEXT_BYTES - text.length);
        tally.add(bytes);
      },
      onEnd: (trailers) => {
        const answer = this.#answers.at(-1);
        answer.trailers = trailers;
        if (tally.right) answer.body = `${tally} bytes`;
        else answer.body = tally.bytes <= TEXT_BYTES ? JSON.stringify(text) : `${tally}`;
        answer.done = true;
        this.#wake();
      },
      onBroken: (why) => {
        this.#answers.push({ status: 'broken', head: '', interim: this.#interim, body: why, trailers: '' });
        this.#ended('broken');
      },
    };
  }

  async #send() {
    const { head, body, behind, before } = this.#plan;
    const { arrival, framing, connection } = this.#row;
    if (framing.startsWith('expect')) {
      await this.#write(head);
      let waited = false;
      setTimeout(() => {
        waited = true;
        this.#wake();
      }, CONTINUE_MS);
      await this.#until(() => waited || this.#interim.startsWith('100') || this.#answers.length > 0);
      await this.#sendBody(Buffer.alloc(0), body, behind, arrival === 'behind' ? 'at-once' : arrival);
    } else {
      await this.#sendBody(before === undefined ? head : Buffer.concat([before, head]), body, behind, arrival);
    }
    if (arrival === 'half-close' || arrival === 'cut') this.#socket.end();
    else if (arrival === 'reset') {
      this.#socket.resetAndDestroy();
      this.#ended('left');
    } else if (connection === 'next') {
      await this.#until(() => this.#done() === 1);
      await this.#write(this.#plan.next);
    }
  }

  async #sendBody(head, body, behind, arrival) {
    if (arrival === 'behind') {
      await this.#write(head);
      await this.#rest(BEHIND_MS);
      return this.#write(Buffer.concat([body, behind]));
    }
    const whole = Buffer.concat([head, body, behind]);
    if (arrival === 'cut' || arrival === 'reset') {
      await this.#write(whole.subarray(0, head.length + (body.length >> 1)));
      return this.#rest(SEEN_MS);
    }
    const cuts = cutsOf(arrival, head.length, whole.length);
    let from = 0;
    for (const to of [...cuts, whole.length]) {
      await this.#write(whole.subarray(from, to));
      if (to < whole.length) await (arrival === 'slow' ? (body.length <= 100 ? tick() : wait(SLOW_MS)) : this.#rest(arrival === 'split' ? SPLIT_MS : STALL_MS));
      from = to;
    }
    return undefined;
  }

  /** Resolves when the server's process has seen what was sent, however busy the machine is: what follows is a part of its own. */
  async #rest(milliseconds) {
    await wait(milliseconds);
    await this.#ping();
  }

  /** Resolves when the kernel has the bytes; rejects when the connection has ended. */
  async #write(bytes) {
    let taken = false;
    this.#socket.write(bytes, () => {
      taken = true;
      this.#wake();
    });
    await this.#until(() => taken);
  }

  async #until(condition) {
    while (!condition()) {
      if (this.#end !== undefined) throw new Error('over');
      await this.#change();
    }
  }

  #done() {
    return this.#answers.filter(({ done }) => done).length;
  }

  #change() {
    return new Promise((resolve) => this.#wakers.push(resolve));
  }

  #wake() {
    for (const waker of this.#wakers.splice(0)) waker();
  }

  #ended(how) {
    this.#end ??= how;
    this.#wake();
  }

  #watchForHang(onQuiet) {
    let [before, since, pinged] = ['', Date.now(), false];
    const began = since;
    return setInterval(() => {
      if (Date.now() - began > LIMIT_MS) this.#ended('hangs');
      const { bytesRead, bytesWritten, writableLength } = this.#socket;
      const now = `${bytesRead} ${bytesWritten - writableLength}`;
      const silentMs = Date.now() - since;
      if (now !== before) {
        [before, since, pinged] = [now, Date.now(), false];
      } else if (pinged) {
        if (silentMs > LAST_CHANCE_MS) this.#ended('hangs');
      } else {
        if (silentMs > QUIET_MS) onQuiet();
        if (silentMs > SILENCE_MS) this.#ping().then(() => ([since, pinged] = [Date.now(), true]));
      }
    }, 100);
  }

  #observed() {
    const observed = {};
    const expected = this.#plan.methods.length;
    for (let index = 0; index < Math.max(expected, this.#answers.length); index++) {
      const answer = this.#answers[index];
      observed[`answer ${index + 1}`] = answer === undefined ? 'none' : `${answer.interim}${answer.status} ${answer.body}${answer.trailers}`.replace(this.#id, 'ROW');
      observed[`head ${index + 1}`] = answer?.head ?? '';
    }
    observed.end = this.#end;
    return observed;
  }
}

/** One of the loopback network's addresses. */
const addressOf = (id) => `127.${1 + (id >> 16) % 254}.${(id >> 8) & 255}.${1 + (id & 255) % 254}`;

/** Where a write ends within head and body. */
function cutsOf(arrival, headBytes, wholeBytes) {
  const bodyBytes = wholeBytes - headBytes;
  if (arrival === 'split' || arrival === 'stalled') return [bodyBytes > 1 ? headBytes + (bodyBytes >> 1) : headBytes >> 1].filter(Boolean);
  if (arrival !== 'slow') return [];
  if (bodyBytes <= 400) return Array.from({ length: wholeBytes - 1 }, (_, index) => index + 1);
  return Array.from({ length: 23 }, (_, index) => headBytes + Math.floor((bodyBytes * (index + 1)) / 24) - (index % 3));
}

/** The bytes of a row: the request with its body, one before it where it is queued, one behind it. */
function planOf({ behaviour, size, connection, framing, watching, method, queued, fields: given = [] }, id, folder) {
  const fields = ['Host: a.test', `X-Row: ${id}`];
  const next = Buffer.from(`GET ${folder}next HTTP/1.1\r\n${fields.join('\r\n')}\r\nConnection: close\r\n\r\n`);
  const upload = Buffer.concat([
    Buffer.from(`POST ${folder}echo HTTP/1.1\r\n${fields.join('\r\n')}\r\nConnection: close\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`),
    pattern(UPLOAD_BYTES),
  ]);
  if (watching === 'watched') fields.push('X-Watched: 1');
  const chunked = framing === 'chunked' || framing === 'trailers';
  fields.push(...given);
  if (framing === 'http10-kept') fields.push('Connection: keep-alive');
  fields.push(chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`);
  if (framing.startsWith('expect')) fields.push('Expect: 100-continue');
  const methods = [method];
  if (connection !== 'idle') methods.push(connection === 'pipelined-upload' ? 'POST' : 'GET');
  if (queued) methods.unshift('GET');
  return {
    methods,
    head: Buffer.from(`${method} ${folder}${behaviour} HTTP/${framing.startsWith('http10') ? '1.0' : '1.1'}\r\n${fields.join('\r\n')}\r\n\r\n`),
    body: chunked ? chunks(size, framing === 'trailers' ? 'X-Sum: 42\r\nX-Sum: 43\r\n' : '') : pattern(size),
    before: queued ? Buffer.from(`GET ${folder}first HTTP/1.1\r\nHost: a.test\r\n\r\n`) : undefined,
    behind: { pipelined: next, 'pipelined-upload': upload }[connection] ?? Buffer.alloc(0),
    next,
  };
}

/** The body in chunks of uneven sizes. */
function chunks(size, trailers) {
  const parts = [];
  for (let offset = 0, length = Math.min(size, 9973); offset < size; offset += length) {
    length = Math.min(length * 2 + 1, 60_000, size - offset);
    parts.push(`${length.toString(16)}\r\n`, pattern().subarray(offset, offset + length), '\r\n');
  }
  parts.push(`0\r\n${trailers}\r\n`);
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}
