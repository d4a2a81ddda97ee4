/**
 * The connection to a host that lasts as long as a registration, or that of a worker's process: a line of JSON for each
 * message.
 */

import { Socket } from 'node:net';

/** What a host says after its first answer. */
export interface HostMessage {
  type: string;
  code?: string;
  message?: string;
  id?: number;
  data?: unknown;
}

/** Bytes of a line at most. */
const LINE_BYTES = 64 * 1024;

/** A connection to the host's control socket. Keeps the event loop alive only while an answer is waited for. */
export class ControlConnection {
  readonly #socket: Socket;
  #rest = '';

  /**
   * @param fd is closed with the connection
   * @param onMessage is told what the host says
   * @param onLost is called when the host has gone, not after `end`
   */
  constructor(fd: number, onMessage: (message: HostMessage) => void, onLost: () => void) {
    this.#socket = new Socket({ fd, readable: true, writable: true });
    this.#socket.unref();
    this.#socket.setEncoding('utf8');
    this.#socket.on('data', (text: string) => this.#receive(text, onMessage));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', onLost);
  }

  /** Sends a message. */
  send(message: HostMessage | object): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Whether an answer is waited for: until then the process does not end by itself. */
  setWaiting(waiting: boolean): void {
    if (waiting) this.#socket.ref();
    else this.#socket.unref();
  }

  /** Ends the connection, and with it the registration. */
  end(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #receive(text: string, onMessage: (message: HostMessage) => void): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > LINE_BYTES) {
      this.#socket.destroy();
      return;
    }
    for (const line of lines) {
      const message = parse(line);
      if (message !== undefined) onMessage(message);
    }
  }
}

function parse(line: string): HostMessage | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === 'object' && value !== null ? value as HostMessage : undefined;
  } catch {
    return undefined;
  }
}
