/** The servers of one cell, all alive at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  SERVER_CORE, cpuNs, freePort, hasMapped, processTree, start, stop, threadCount, untilListening,
} from './process.mjs';
import { requestSet } from './requests.mjs';
import { compareAnswers, rawAnswer } from './wire.mjs';

const SETTLE_MS = 15;

export class Fleet {
  /** Started servers: { server, port, pids, wire } */
  members = [];
  /** Servers that this cell has but that could not be started, and why. */
  failures = [];
  #cell;
  #reference = {};

  constructor(cell) {
    this.#cell = cell;
  }

  /** Starts the servers that have this cell; node:http first, whose bytes the others are compared with. */
  async start(servers) {
    for (const server of servers) {
      try {
        const member = await this.#startOne(server);
        if (member) this.members.push(member);
      } catch (error) {
        this.failures.push({ server, reason: error.message });
      }
    }
  }

  async #startOne(server) {
    const port = await freePort();
    const reference = this.#reference[server.base] ?? Object.values(this.#reference)[0];
    const command = server.command(this.#cell, port, reference);
    if (!command) return null;
    const child = start(command, SERVER_CORE);
    try {
      await untilListening(child, port);
      checkEngine(server, child.pid);
      const wire = await this.#wire(server, port, reference);
      await sleep(SETTLE_MS);
      return { server, child, port, pids: processTree(child.pid), wire };
    } catch (error) {
      await stop(child);
      throw error;
    }
  }

  async #wire(server, port, reference) {
    const { bytes, requestBytes, handshake } = requestSet(this.#cell.request, port);
    const answer = await rawAnswer(port, handshake ?? bytes.subarray(0, requestBytes), Boolean(this.#cell.tls));
    if (server.id !== server.base) return reference ? compareAnswers(reference, answer) : { same: true, text: '' };
    this.#reference[server.id] = answer;
    return { same: true, text: 'reference' };
  }

  /** Ends a member that does not do its work, so that it takes no other's time. */
  async drop(member, reason) {
    this.members = this.members.filter((other) => other !== member);
    this.failures.push({ server: member.server, reason });
    await stop(member.child);
  }

  async stop() {
    await Promise.all(this.members.map((member) => stop(member.child)));
  }
}

/** Threads that the same Node has without an engine of its own threads; known after the first cell at the latest. */
const ordinaryThreads = new Map();

/** @throws Error when a server that is called Portico is not, or runs inline when it should not */
function checkEngine(server, pid) {
  if (server.mapped && !hasMapped(pid, server.mapped)) throw new Error('the engine is not in the process');
  if (server.id !== server.base && !server.mapped) return;
  const [threads, ordinary] = [threadCount(pid), ordinaryThreads.get(server.base) ?? 0];
  if (!server.threads) ordinaryThreads.set(server.base, Math.max(ordinary, threads));
  else if (threads < ordinary + server.threads) throw new Error('the engine has no thread of its own');
}

/** CPU time of a member so far. It is asleep: its connections are idle. */
export async function settledCpuNs(member) {
  await sleep(SETTLE_MS);
  return cpuNs(member.pids);
}
