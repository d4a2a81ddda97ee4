/** Takes the chunk framing (RFC 9112, section 7.1) off bytes that Node's own methods have framed. */

const CR = 13;
const LF = 10;

/** State of one body. Its input is Node's own, so that nothing of it is checked. */
export class Dechunker {
  /** Bytes of the chunk's data that are still to come. */
  #left = 0;
  /** Digits of the next chunk's size; null behind the last chunk. */
  #size: string | null = '';

  /** Whether the last chunk has come. */
  get ended(): boolean {
    return this.#size === null;
  }

  /** The data in the next bytes. What follows the last chunk is left out: trailers have a way of their own. */
  take(bytes: Uint8Array): Uint8Array[] {
    const parts: Uint8Array[] = [];
    let at = 0;
    while (at < bytes.length && this.#size !== null) {
      if (this.#left > 0) {
        const end = Math.min(bytes.length, at + this.#left);
        parts.push(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
      } else {
        this.#takeSize(bytes[at++]);
      }
    }
    return parts;
  }

  /** A line feed ends the size's line, and the empty one behind a chunk's data, which has no digits. */
  #takeSize(byte: number): void {
    if (byte === CR) return;
    if (byte !== LF) {
      this.#size += String.fromCharCode(byte);
    } else if (this.#size !== '') {
      this.#left = Number.parseInt(this.#size as string, 16);
      this.#size = this.#left === 0 ? null : '';
    }
  }
}
