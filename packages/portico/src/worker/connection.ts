/**
 * The connection of a worker's process to its host: the program's "ready", its wish to be replaced, and what the host asks.
 *
 * One for each process, opened when there is something to say or to hear; opened again when the host was replaced. It does
 * not keep the process alive. The lines are described in crates/portico-host/src/protocol.rs.
 */

import { isMainThread } from 'node:worker_threads';
import process = require('node:process');
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { ControlConnection, type HostMessage } from '../host/control-connection';
import { prefixError } from '../host/errors';
import { PROTOCOL, thisProcess } from '../host/register-prefix';
import { loadBinding } from '../native/load';
import { workerEnvironment } from './environment';

/** First and longest pause between attempts to reach a host, in milliseconds. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/** A wish to be replaced that the host has not answered. */
interface Recycling {
  reason: string | undefined;
  resolve(): void;
  reject(error: Error): void;
}

/** What the process tells its host, and is told. */
class WorkerConnection {
  readonly #id: string;
  #control: ControlConnection | undefined;
  #isReady = false;
  readonly #recyclings: Recycling[] = [];
  /** The host does not know this worker, or has no workers. */
  #refusal: Error | undefined;
  #utilization: EventLoopUtilization = performance.eventLoopUtilization();

  constructor(id: string) {
    this.#id = id;
    void this.#connect();
  }

  /** The program is ready to be given requests. */
  ready(): void {
    this.#isReady = true;
    this.#control?.send({ type: 'ready' });
  }

  /** Resolves when the host has said that it replaces this process. */
  recycle(reason: string | undefined): Promise<void> {
    const { promise, ...settle } = withResolvers();
    if (this.#refusal !== undefined) settle.reject(this.#refusal);
    else {
      this.#recyclings.push({ reason, ...settle });
      this.#control?.send({ type: 'recycle', reason });
      this.#control?.setWaiting(true);
    }
    return promise;
  }

  async #connect(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const connection = await loadBinding().connectHost(JSON.stringify({
        type: 'worker', protocol: PROTOCOL, id: this.#id, process: thisProcess(),
      }));
      if (connection.answer !== '') {
        const fd = connection.takeControl();
        connection.discard();
        this.#begin(fd, JSON.parse(connection.answer) as HostMessage);
        return;
      }
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        // Only who waits for an answer keeps the process alive.
        if (this.#recyclings.length === 0) timer.unref();
      });
    }
  }

  #begin(fd: number, answer: HostMessage): void {
    const control = new ControlConnection(fd, (message) => this.#receive(control, message), () => this.#lost());
    if (answer.type !== 'worker') {
      control.end();
      this.#refusal = prefixError(answer.code ?? 'ERR_PORTICO_HOST', answer.message ?? 'The host refused the worker.');
      for (const { reject } of this.#recyclings.splice(0)) reject(this.#refusal);
      return;
    }
    this.#control = control;
    if (this.#isReady) control.send({ type: 'ready' });
    for (const { reason } of this.#recyclings) control.send({ type: 'recycle', reason });
    control.setWaiting(this.#recyclings.length > 0);
  }

  #receive(control: ControlConnection, message: HostMessage): void {
    switch (message.type) {
      case 'ping': return control.send({ type: 'pong', id: message.id, ...this.#health() });
      case 'shutdown': return control.send({ type: 'shutdown', heard: process.emit('message', 'shutdown', undefined) });
      case 'message': return void process.emit('message', message.data, undefined);
      case 'recycling': return this.#answered(control)?.resolve();
      case 'error': return this.#answered(control)?.reject(prefixError(message.code ?? 'ERR_PORTICO_HOST', message.message ?? 'The host refused.'));
      // Another host has taken over: it is told at the connection's end, which follows.
      default:
    }
  }

  /** The wish that the host has answered. */
  #answered(control: ControlConnection): Recycling | undefined {
    const answered = this.#recyclings.shift();
    control.setWaiting(this.#recyclings.length > 0);
    return answered;
  }

  #lost(): void {
    this.#control = undefined;
    void this.#connect();
  }

  /** Of the time since the last question. */
  #health(): object {
    const { heapUsed, heapTotal, rss } = process.memoryUsage();
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    return { heap_used: heapUsed, heap_total: heapTotal, rss, event_loop: Number(utilization.toFixed(4)) };
  }
}

let connection: WorkerConnection | undefined;

/** The connection of this process, opened at the first call; undefined where no host has started it, and in threads. */
export function openWorkerConnection(): WorkerConnection | undefined {
  const worker = workerEnvironment();
  if (worker === undefined || !isMainThread) return undefined;
  return connection ??= new WorkerConnection(worker.id);
}

/** `Promise.withResolvers`, which Node 20 has not. */
function withResolvers(): { promise: Promise<void>; resolve(): void; reject(error: Error): void } {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((...settle) => [resolve, reject] = settle);
  return { promise, resolve, reject };
}
