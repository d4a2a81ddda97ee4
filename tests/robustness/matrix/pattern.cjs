'use strict';
// The bytes of every long body, of requests and of answers: a text in which no part repeats, so that a part that is lost,
// doubled or swapped is seen, and checking costs one comparison of memory.

const PATTERN_BYTES = 10_485_760;

let made;

/** The first `length` bytes of the pattern; ASCII. */
function pattern(length = PATTERN_BYTES) {
  made ??= makePattern();
  return made.subarray(0, length);
}

function makePattern() {
  const bytes = Buffer.alloc(PATTERN_BYTES);
  for (let offset = 0, number = 0; offset < PATTERN_BYTES; number++) {
    offset += bytes.write(`${number.toString(36)}.`, offset, 'latin1');
  }
  return bytes;
}

/** Counts what comes and says whether it is the pattern so far. */
class Tally {
  bytes = 0;
  #right = true;

  add(part) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
    const end = this.bytes + bytes.length;
    this.#right &&= end <= PATTERN_BYTES && pattern().compare(bytes, 0, bytes.length, this.bytes, end) === 0;
    this.bytes = end;
  }

  /** True while all that came is the pattern. */
  get right() {
    return this.#right;
  }

  toString() {
    return `${this.bytes}${this.#right ? '' : ' of other bytes than were sent'}`;
  }
}

module.exports = { pattern, Tally };
