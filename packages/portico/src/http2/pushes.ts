/** Server push: streams that the server promises, and answers as if the client had opened them. */

import { constants } from 'node:http2';
import { copyOf, type Fields } from './fields';
import type { Link } from './session';

/** Called with the number of a stream that has been promised; 0: it has not been. */
type Promised = (id: number) => void;

/** Those of one session whose numbers are not known yet, in their order. */
export class Pushes {
  readonly #waiting = new Map<number, Promised[]>();

  /** Nothing is waited for. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Promises a stream for `fields`, which have been completed. */
  begin({ writer, token }: Link, parent: number, fields: Fields, lines: string, promised: Promised): void {
    const waiting = this.#waiting.get(parent) ?? [];
    this.#waiting.set(parent, waiting);
    waiting.push(promised);
    const word = (name: string): string => String((fields[name] as string | undefined) ?? '');
    writer.push(token, parent, word(':method'), word(':scheme'), word(':authority'), word(':path'), lines);
  }

  /** The oldest of a stream's promises has its number. */
  promised(parent: number, id: number): void {
    const waiting = this.#waiting.get(parent);
    const promised = waiting?.shift();
    if (waiting?.length === 0) this.#waiting.delete(parent);
    promised?.(id);
  }

  /** The session is over. */
  cancel(): void {
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const promised of waiting) promised(0);
  }
}

/** The request that a push promises, of a stream that asked for `request`. */
export function completePush(given: unknown, request: Fields): Fields {
  const fields = copyOf(given);
  fields[':method'] ??= constants.HTTP2_METHOD_GET;
  if (fields[':authority'] === undefined && fields['host'] === undefined) fields[':authority'] = request[':authority'] ?? request['host'];
  fields[':scheme'] ??= request[':scheme'];
  fields[':path'] ??= '/';
  return fields;
}
