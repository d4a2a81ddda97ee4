/** What hosts keep of this process's answers: one conversation for each registration. */

import type { CacheStats, PurgeKind } from '../native/binding';
import type { ControlConnection, HostMessage } from './control-connection';

/** A host's answer to a question about the cache. */
interface CacheAnswer extends HostMessage {
  purged?: number;
  cache?: Record<string, number>;
}

type Settle = (answer: CacheAnswer | undefined) => void;

/** Questions about what one host keeps for one registration. Answers come in the order of the questions. */
export class HostCache {
  readonly #control: () => ControlConnection;
  readonly #waiting: Settle[] = [];

  constructor(control: () => ControlConnection) {
    this.#control = control;
    caches.add(this);
  }

  /** A line of the host: whether it was an answer to a question. */
  hear(message: HostMessage): boolean {
    if (message.type !== 'ok' && message.type !== 'error') return false;
    this.#waiting.shift()?.(message as CacheAnswer);
    return true;
  }

  /** Whether an answer is waited for. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** The registration has ended: nothing is kept for it that could be asked for. */
  end(): void {
    caches.delete(this);
    for (const settle of this.#waiting.splice(0)) settle(undefined);
  }

  /** Returns how many answers went. */
  async purge(by: PurgeKind, value: string): Promise<number> {
    return (await this.#ask({ type: 'cache', action: 'purge', by, value }))?.purged ?? 0;
  }

  /** What the host keeps, of all prefixes. */
  async stats(): Promise<CacheStats | undefined> {
    const found = (await this.#ask({ type: 'cache', action: 'status' }))?.cache;
    if (found === undefined) return undefined;
    const { hits, collapsed, misses, entries, bytes, budget_bytes: budgetBytes, stored, evicted, expired, purged } = found;
    return { hits, collapsed, misses, entries, bytes, budgetBytes, stored, evicted, expired, purged };
  }

  #ask(question: HostMessage & Record<string, unknown>): Promise<CacheAnswer | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push((answer) => {
        if (answer?.type === 'error') reject(Object.assign(new Error(answer.message), { code: answer.code }));
        else resolve(answer);
      });
      this.#control().setWaiting(true);
      this.#control().send(question);
    });
  }
}

/** Of registrations that live. */
const caches = new Set<HostCache>();

/** Of registrations that live. */
export function hostCaches(): readonly HostCache[] {
  return [...caches];
}
