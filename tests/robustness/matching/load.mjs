// The load: visits without end, and an account of every request.

import { visit } from './visit.mjs';

const HANG_MS = 15_000;
const SIZES = [0, 10, 1_000, 16_384, 65_536, 70_000, 200_000];
const BIG_BYTES = 1_500_000;
/** A member that died so long before a request was sent may still be why its answer is lost. */
const DEATH_MS = 1_000;

/** Every request, what came of it, and why. */
class Ledger {
  #deaths = [];
  #sent = new Map();
  visits = new Map();
  answers = 0;
  statuses = new Map();
  explained = 0;
  faults = [];

  came(one) {
    this.visits.set(one, { progress: -1, since: Date.now() });
  }

  gone(one) {
    this.visits.delete(one);
  }

  sent(id) {
    this.#sent.set(id, Date.now());
  }

  answered(id, status) {
    const isExplained = status !== 502 || this.#hasDeathSince(this.#sent.get(id));
    if (status === 502) this.explained++;
    if (status === 503 || !isExplained) this.faults.push(`${id}: ${status}, and no process died`);
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    this.answers++;
    this.#sent.delete(id);
  }

  /** What lay behind the first lost one of a connection went with it. */
  lost([first, ...others], why) {
    if (this.#hasDeathSince(this.#sent.get(first))) this.explained += 1 + others.length;
    else this.faults.push(`${[first, ...others].join(', ')}: lost (${why}), and no process died`);
  }

  wrong(id, why) {
    this.faults.push(`${id ?? 'no request'}: ${why}`);
  }

  /** A process is about to be killed. */
  death(pid) {
    this.#deaths.push({ pid, time: Date.now() });
  }

  /** Ends the visits that have stood still for too long. `explain` resolves with what the server has in work. */
  endHangs(explain) {
    for (const [one, seen] of this.visits) {
      if (one.progress !== seen.progress) Object.assign(seen, { progress: one.progress, since: Date.now() });
      else if (Date.now() - seen.since > HANG_MS) {
        seen.since = Infinity;
        const deaths = this.#deaths.map(({ pid, time }) => `${pid} ${Date.now() - time} ms ago`).join(', ') || 'none';
        const fault = `hangs: ${one.state}; processes died: ${deaths}`;
        void explain().then((found) => {
          this.faults.push(`${fault}\n${found}`);
          one.leave();
        });
      }
    }
  }

  #hasDeathSince(time) {
    return this.#deaths.some((death) => death.time > time - DEATH_MS);
  }
}

/**
 * Keeps `connections` visits going until `stop()`, which resolves with the ledger when the last has ended. `endpoint`:
 * `{ port, folder }`. The visits follow from `seed`. `explain` is asked where one hangs.
 */
export function startMatching(endpoint, { connections = 32, seed = 1, explain = async () => '' }) {
  const ledger = new Ledger();
  const random = randomFrom(seed);
  let [stopping, id] = [false, 0];
  const workers = Array.from({ length: connections }, async () => {
    while (!stopping) await visit(endpoint.port, endpoint.folder, planVisit(random, () => String(++id).padStart(8, '0')), ledger);
  });
  const watcher = setInterval(() => ledger.endHangs(explain), 500);
  return {
    ledger,
    stop: async () => {
      stopping = true;
      await Promise.all(workers);
      clearInterval(watcher);
      return ledger;
    },
  };
}

function planVisit(random, nextId) {
  const oneOf = (list) => list[Math.floor(random() * list.length)];
  const sizeOf = () => (random() < 0.01 ? BIG_BYTES : oneOf(SIZES));
  if (random() < 0.05) {
    return { requests: [{ id: nextId(), kind: 'tunnel', bytes: sizeOf(), method: 'GET' }], depth: 1, slowMs: 0, leaveAfterBytes: Infinity, tunnel: true };
  }
  const requests = Array.from({ length: 1 + Math.floor(random() * 12) }, () => {
    const kind = oneOf(['length', 'length', 'chunked', 'text', 'late', 'echo', 'read', 'refuse']);
    const takesBody = ['echo', 'read', 'refuse'].includes(kind);
    return { id: nextId(), kind, bytes: sizeOf(), method: takesBody ? 'POST' : oneOf(['GET', 'GET', 'GET', 'HEAD']) };
  });
  return {
    requests,
    depth: oneOf([1, 1, 2, 4, 16]),
    slowMs: random() < 0.1 ? 1 + Math.floor(random() * 10) : 0,
    leaveAfterBytes: random() < 0.1 ? Math.floor(random() * 200_000) : Infinity,
    tunnel: false,
  };
}

/** Numbers from 0 to 1 that a seed determines (a multiplicative congruential generator). */
function randomFrom(seed) {
  let state = (seed % 2_147_483_646) + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state - 1) / 2_147_483_646;
  };
}
