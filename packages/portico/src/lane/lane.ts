/**
 * The lane: what stands between one environment (the main thread, or a worker) and its engine.
 *
 * Made at the first listen. Holds the slab that events arrive in, the writer of commands, and the connections by slot.
 */

import { appendFileSync } from 'node:fs';
import { SLOT_MASK } from '../generated/layout';
import type { Engine, EngineOptions } from '../native/binding';
import { loadBinding } from '../native/load';
import { cacheDuration, keepsByCacheControl } from '../native/cache-duration';
import { threadCount } from '../native/thread-count';
import { AddressTable } from './addresses';
import type { AttachedServer } from './attached-server';
import type { Connection } from './connection';
import { loseConnection } from './connection-end';
import { dispatchEvents } from './events';
import { makeSlab, type Slab } from './slab';
import { Templates } from './templates';
import { CommandWriter } from './writer';

/** Words shared with the add-on; see `EngineOptions.state`. */
const STATE_WORDS = 8;
const WAKE_WORD = 3;

/** What one environment shares with its engine. */
export class Lane {
  readonly state = new Int32Array(STATE_WORDS);
  readonly writer: CommandWriter;
  readonly templates: Templates;
  readonly engine: Engine;
  /** By listener number. */
  readonly servers = new Map<number, AttachedServer>();
  /** Of the connections. */
  readonly addresses = new AddressTable();
  /** By slot of their token. */
  readonly connections: (Connection | undefined)[] = [];
  /** Counts batches of events. What was ended in an earlier one has been sent. */
  turn = 0;
  /** Where the batch of events in work ends. */
  batchEnd = -1;
  /** Word of the last record of the batch before; -1 if its handler threw. */
  lastRecord = -1;
  /** The slab that the batch before has filled, if that has yet to be followed by another: ticks have not run since. */
  filled: Slab | undefined = undefined;
  /** The batch goes on behind a record whose handler threw. */
  resumed = false;
  /** Events are being handed out. */
  dispatching = false;
  slab: Slab;
  #ended = false;
  /** Memory of the requests that came before the engine kept answers, and maybe of some behind them. */
  #slabBeforeCache: Slab | undefined;
  #keepsAnswers = false;

  /** Its connections are a host's, and carry answers of other servers too. */
  readonly isShared: boolean;

  /**
   * @param makeEngine makes the engine that the lane belongs to
   * @param isShared the engine is a host's
   */
  constructor(makeEngine: (options: EngineOptions) => Engine, isShared = false) {
    this.isShared = isShared;
    const threads = threadCount();
    this.writer = new CommandWriter(this.state, threads === 0 && !isShared);
    this.templates = new Templates(this.writer);
    this.slab = makeSlab(0);
    this.engine = makeEngine({
      threads,
      state: this.state,
      commands: this.writer.bytes,
      onEvents: (start, end) => this.#dispatch(start, end),
      onSlabNeeded: (bytes) => this.#renewSlab(bytes),
    });
    this.writer.connect(this.engine);
    this.engine.setSlab(this.slab.bytes);
    lanes.add(this);
    const seconds = cacheDuration();
    if (keepsByCacheControl() && !isShared) {
      this.#keepsAnswers = true;
      this.engine.useCache(undefined, true);
    } else if (seconds !== undefined) {
      this.#keepAnswers(seconds);
    }
  }

  /**
   * Has the engine keep answers that ask for it, if it does not yet.
   *
   * @param slab where the request lies whose answer asks
   * @returns whether the engine may not have looked at that request
   */
  useCache(slab: Slab): boolean {
    if (!this.#keepsAnswers) {
      this.#keepsAnswers = true;
      this.#slabBeforeCache = this.slab;
      this.engine.useCache();
      return true;
    }
    return slab === this.#slabBeforeCache;
  }

  /** Has the engine keep all answers for so many seconds; 0: those that ask for it. */
  #keepAnswers(seconds: number): void {
    // A host is told by a record, since its shards are others' too; it notices by itself what asks.
    this.#keepsAnswers = !this.isShared;
    if (!this.isShared) this.engine.useCache(seconds === 0 ? undefined : seconds * 1000);
    else if (seconds > 0) {
      this.writer.cache(0, 0, seconds * 1000, '', '', '');
      this.writer.submit();
    }
  }

  /** Takes the engine out of the event loop. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    reportCounters(this.engine);
    lanes.delete(this);
    this.engine.destroy();
  }

  /** Whether `end` was called. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The engine is lost, and all connections with it: for the program they were reset. */
  loseConnections(): void {
    for (const connection of this.connections) if (connection !== undefined) loseConnection(connection);
  }

  /** Counts the event loop's wakes of the engine. The batches of one come without a turn of the loop between them. */
  get wake(): number {
    return this.state[WAKE_WORD];
  }

  /** The connection a token names, if it lives. */
  connection(token: number): Connection | undefined {
    const connection = this.connections[token & SLOT_MASK];
    return connection !== undefined && connection.token === token ? connection : undefined;
  }

  #dispatch(start: number, end: number): void {
    this.dispatching = true;
    try {
      dispatchEvents(this, start, end);
    } finally {
      this.dispatching = false;
    }
  }

  #renewSlab(bytes: number): void {
    this.filled = this.slab;
    this.slab = makeSlab(bytes);
    this.batchEnd = -1;
    this.engine.setSlab(this.slab.bytes);
  }
}

/** Lanes whose engine lives. */
const lanes = new Set<Lane>();

// What handlers of 'exit' and the last tick answered still goes out.
process.on('exit', () => {
  for (const each of lanes) {
    each.writer.submit();
    reportCounters(each.engine);
  }
});

let lane: Lane | undefined;

/** This environment's lane; made when first asked for. Throws what the add-on's loading throws. */
export function currentLane(): Lane {
  return lane ??= new Lane((options) => loadBinding().createEngine(options));
}

/** The lane if there is one. */
export function existingLane(): Lane | undefined {
  return lane;
}

/** `PORTICO_COUNTERS_FILE`: a line for each environment as it ends, so that a test can tell that the engine served. */
function reportCounters(engine: Engine): void {
  const file = process.env['PORTICO_COUNTERS_FILE'];
  if (file === undefined || file === '') return;
  const { connectionsAccepted, requests } = engine.counters();
  appendFileSync(file, `${JSON.stringify({ pid: process.pid, connections: connectionsAccepted, requests })}\n`);
}
