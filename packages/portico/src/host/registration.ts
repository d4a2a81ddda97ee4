/**
 * A server's registration at a host, from 'listening' to the last connection.
 *
 * Its lane is an engine in the host's process. When the host hands over to another one (`moved`), or is lost, the
 * prefix is registered again, and a lane that still has connections goes on beside the new one until they have ended.
 */

import type { AttachedServer } from '../lane/attached-server';
import { Lane } from '../lane/lane';
import { ControlConnection, type HostMessage } from './control-connection';
import { prefixError } from './errors';
import { HostCache } from './host-caches';
import type { PrefixOwner } from './prefix-handle';
import { registerPrefix, type Grant, type WorkerPlace } from './register-prefix';

/** First and longest pause between attempts to find a lost host again, in milliseconds. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/** One granted registration: a control connection and a lane. */
interface Session {
  readonly control: ControlConnection;
  readonly lane: Lane;
  readonly cache: HostCache;
  /** The host has been told that the server stops, and has not said that it knows. */
  leaving: boolean;
}

/** A server's place at a host. */
export class Registration implements PrefixOwner {
  readonly #attached: AttachedServer;
  readonly #prefix: string;
  readonly #worker: WorkerPlace | undefined;
  #grant: Grant;
  #session: Session;
  /** Those that have not ended: the present one, and those of hosts that have handed over. */
  readonly #sessions = new Set<Session>();
  #left = false;
  #whenLeft: (() => void)[] = [];

  constructor(attached: AttachedServer, prefix: string, grant: Grant, worker?: WorkerPlace) {
    this.#attached = attached;
    this.#prefix = prefix;
    this.#worker = worker;
    this.#grant = grant;
    this.#session = this.#begin(grant);
  }

  get address(): Grant['address'] {
    return this.#grant.address;
  }

  get referenced(): boolean {
    return this.#attached.referenced;
  }

  setRef(referenced: boolean): void {
    this.#attached.setRef(referenced);
  }

  /** The host gives nothing new; what it gave before it knew is finished. */
  leave(done: () => void): void {
    if (this.#left) return done();
    this.#left = true;
    this.#whenLeft.push(done);
    this.#attached.beginLeaving();
    this.#attached.close();
    for (const session of this.#sessions) {
      session.leaving = true;
      // As a handle that is being closed: its callback runs in any case.
      session.control.setWaiting(true);
      session.control.send({ type: 'leave' });
    }
    this.#finishLeaving();
  }

  #begin(grant: Grant): Session {
    const fd = grant.connection.takeControl();
    const lane = new Lane((options) => grant.connection.createEngine(options), true);
    const session: Session = {
      lane,
      leaving: false,
      cache: new HostCache(() => session.control),
      control: new ControlConnection(fd, (message) => this.#receive(session, message), () => this.#lost(session)),
    };
    this.#sessions.add(session);
    this.#attached.attachToHost(lane, () => this.#drained(session));
    return session;
  }

  #receive(session: Session, message: HostMessage): void {
    if (session.cache.hear(message)) {
      session.control.setWaiting(session.leaving || session.cache.isWaiting);
    } else if (message.type === 'left') {
      session.leaving = false;
      session.control.setWaiting(false);
      this.#finishLeaving();
    } else if (session !== this.#session) {
      // A host that has handed over has nothing more to say.
    } else if (message.type === 'moved') {
      this.#renew();
    } else if (message.type === 'closed') {
      this.#closed(message);
    }
  }

  /** The host ended the registration. One that is going away itself may come back; anything else is an error. */
  #closed({ code, message }: HostMessage): void {
    if (code === 'ERR_PORTICO_HOST_STOPPING') return;
    const { server } = this.#attached;
    server.emit('error', prefixError(code ?? 'ERR_PORTICO_HOST', message ?? `The host ended the registration of ${this.#prefix}.`, this.#prefix));
    server.close();
  }

  /** The host has gone. Connections are gone with it; the prefix is registered again. */
  #lost(session: Session): void {
    session.cache.end();
    session.lane.loseConnections();
    this.#attached.forget(session.lane);
    session.lane.end();
    this.#sessions.delete(session);
    if (this.#left) this.#finishLeaving();
    else if (session === this.#session) this.#renew();
  }

  /** Once every host knows. */
  #finishLeaving(): void {
    if ([...this.#sessions].some((session) => session.leaving)) return;
    if (this.#whenLeft.length === 0) return;
    this.#attached.endLeaving();
    for (const done of this.#whenLeft.splice(0)) done();
    // Requests that were on their way when the host heard of it are in the channel now.
    setImmediate(() => this.#attached.connectionGone());
  }

  /** The last connection of a session has gone and nothing new comes. */
  #drained(session: Session): void {
    session.cache.end();
    session.control.end();
    session.lane.end();
    this.#sessions.delete(session);
  }

  #renew(): void {
    const keepAlive = setInterval(() => undefined, 0x7fffffff);
    if (!this.referenced) keepAlive.unref();
    this.#reregister(FIRST_PAUSE_MS).finally(() => clearInterval(keepAlive));
  }

  async #reregister(pauseMs: number): Promise<void> {
    while (!this.#left) {
      try {
        const grant = await registerPrefix(this.#prefix, this.#worker);
        if (this.#left) {
          grant.connection.discard();
          return;
        }
        this.#grant = grant;
        const old = this.#session.lane;
        this.#session = this.#begin(grant);
        if (!old.ended) this.#attached.retire(old);
        return;
      } catch (error) {
        warn(this.#prefix, error as Error);
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }
}

let warned = false;

function warn(prefix: string, error: Error): void {
  if (warned) return;
  warned = true;
  process.emitWarning(`The Portico host was lost, and ${prefix} can't be registered again yet: ${error.message}`, {
    type: 'PorticoWarning', code: 'PORTICO_HOST_LOST',
  });
}
