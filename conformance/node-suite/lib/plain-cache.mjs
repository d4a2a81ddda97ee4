// Results of the plain side, kept between runs: they depend only on the suite and the Node binary.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** A file of results by kind (`plain`, `probe`) and test name; of one Node version, else empty. */
export class PlainCache {
  #file;
  #content;

  constructor(file, nodeVersion) {
    this.#file = file;
    this.#content = { nodeVersion, plain: {}, probe: {} };
    if (file === null || !existsSync(file)) return;
    const stored = JSON.parse(readFileSync(file, 'utf8'));
    if (stored.nodeVersion === nodeVersion) this.#content = stored;
  }

  has(kind, name) {
    return Object.hasOwn(this.#content[kind], name);
  }

  take(kind, name) {
    return { name, output: '', ...this.#content[kind][name] };
  }

  /** Keeps a pass or a skip. A failure is tried again next time. */
  put(kind, { name, outcome, served }) {
    if (outcome !== 'pass' && outcome !== 'skip') return;
    this.#content[kind][name] = { outcome, served };
  }

  save() {
    if (this.#file !== null) writeFileSync(this.#file, `${JSON.stringify(this.#content, null, 1)}\n`);
  }
}
