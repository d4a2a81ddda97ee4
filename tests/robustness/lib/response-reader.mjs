// Reads HTTP/1.1 answers out of a connection's bytes, as strictly as a test needs and at little cost: bodies are given
// on, not kept.

const STATES = { head: 0, length: 1, chunkSize: 2, chunkData: 3, chunkEnd: 4, trailers: 5, untilEnd: 6, broken: 7 };
const HEAD_LIMIT_BYTES = 256 * 1024;

/**
 * Feeds answers to `sink`: `methodOf(index)` says what the request was, then come `onInterim(head)`, `onHead(head)`,
 * `onBody(bytes)` and `onEnd(trailers)`. A head is `{ status, lines, fields }`, with lower-case names in `fields`.
 * What can't be an answer goes to `onBroken(why)`, once, and nothing is read any more.
 */
export class ResponseReader {
  #sink;
  #state = STATES.head;
  #text = '';
  #left = 0;
  #answers = 0;

  constructor(sink) {
    this.#sink = sink;
  }

  /** True between the answers: nothing of a next one has come. */
  get isBetween() {
    return this.#state === STATES.head && this.#text === '';
  }

  feed(bytes) {
    let offset = 0;
    while (offset < bytes.length && this.#state !== STATES.broken) offset = this.#step(bytes, offset);
  }

  /** The peer has ended: an answer without a length is complete. */
  end() {
    if (this.#state === STATES.untilEnd) this.#finish('');
  }

  #step(bytes, offset) {
    switch (this.#state) {
      case STATES.head: return this.#untilMark(bytes, offset, '\r\n\r\n', (text) => this.#head(text));
      case STATES.chunkSize: return this.#untilMark(bytes, offset, '\r\n', (text) => this.#chunk(text));
      case STATES.chunkEnd: return this.#untilMark(bytes, offset, '\r\n', (text) => this.#afterChunk(text));
      case STATES.trailers: return this.#untilMark(bytes, offset, '\r\n', (text) => this.#trailer(text));
      default: return this.#body(bytes, offset);
    }
  }

  #untilMark(bytes, offset, mark, then) {
    const before = this.#text.length;
    const found = before === 0 ? bytes.indexOf(mark, offset, 'latin1') : -1;
    if (found >= 0) {
      then(bytes.latin1Slice(offset, found));
      return found + mark.length;
    }
    // The mark may be split: what is kept is short.
    this.#text += bytes.latin1Slice(offset, Math.min(bytes.length, offset + HEAD_LIMIT_BYTES));
    const end = this.#text.indexOf(mark);
    if (end < 0) {
      if (this.#text.length > HEAD_LIMIT_BYTES) this.#break('a line without an end');
      return bytes.length;
    }
    const text = this.#text.slice(0, end);
    this.#text = '';
    then(text);
    return offset + end + mark.length - before;
  }

  #body(bytes, offset) {
    const end = this.#state === STATES.untilEnd ? bytes.length : Math.min(bytes.length, offset + this.#left);
    this.#sink.onBody(bytes.subarray(offset, end));
    this.#left -= end - offset;
    if (this.#left > 0 || this.#state === STATES.untilEnd) return end;
    if (this.#state === STATES.length) this.#finish('');
    else this.#state = STATES.chunkEnd;
    return end;
  }

  #head(text) {
    const [first, ...lines] = text.split('\r\n');
    const match = /^HTTP\/1\.1 (\d{3}) /.exec(first);
    if (match === null) return this.#break(`no status line: ${JSON.stringify(first.slice(0, 60))}`);
    const status = Number(match[1]);
    const fields = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
    if (status < 200 && status !== 101) return this.#sink.onInterim({ status, lines, fields });
    this.#sink.onHead({ status, lines, fields });
    if (this.#state === STATES.broken) return undefined;
    const bodyless = this.#sink.methodOf(this.#answers) === 'HEAD' || status === 204 || status === 304;
    if (bodyless) return this.#finish('');
    return this.#frame(status, fields);
  }

  #frame(status, fields) {
    this.#left = 0;
    if (status === 101) this.#state = STATES.untilEnd;
    else if (fields['transfer-encoding'] === 'chunked') this.#state = STATES.chunkSize;
    else if (fields['content-length'] === undefined) this.#state = STATES.untilEnd;
    else if (!/^\d+$/.test(fields['content-length'])) this.#break(`Content-Length: ${fields['content-length']}`);
    else if (Number(fields['content-length']) === 0) this.#finish('');
    else {
      this.#left = Number(fields['content-length']);
      this.#state = STATES.length;
    }
  }

  #chunk(text) {
    if (!/^[0-9a-fA-F]+$/.test(text)) return this.#break(`no chunk size: ${JSON.stringify(text.slice(0, 60))}`);
    this.#left = parseInt(text, 16);
    this.#state = this.#left === 0 ? STATES.trailers : STATES.chunkData;
    this.trailers = '';
    return undefined;
  }

  #afterChunk(text) {
    if (text === '') this.#state = STATES.chunkSize;
    else this.#break('a chunk is longer than it says');
  }

  #trailer(text) {
    if (text === '') this.#finish(this.trailers);
    else this.trailers += `${text}\n`;
  }

  #finish(trailers) {
    this.#state = STATES.head;
    this.#answers += 1;
    this.#sink.onEnd(trailers);
  }

  #break(why) {
    this.#state = STATES.broken;
    this.#sink.onBroken(why);
  }
}
