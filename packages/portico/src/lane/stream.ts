/**
 * One stream of a connection whose requests interleave, in the shape of a connection: what a protocol's JavaScript side
 * does with a connection of its own, it does with a stream. Its socket has the addresses and the TLS facts of the
 * connection; what ends it ends the stream, and not its siblings.
 *
 * States: a request and its answer; a tunnel (CONNECT: bytes pass both ways in the stream); over. The engine has no event for
 * the end of a stream that both sides have ended: who counts its requests says `finish`.
 */

import * as layout from '../generated/layout';
import { NO_ADDRESSES, type Addresses } from './addresses';
import { Connection } from './connection';
import { endReadable, streamGone } from './connection-end';
import { inactive } from './events';
import type { BeginProtocol, Protocol } from './protocol';
import { receive, type LaneSocket } from './socket';
import { toBytes } from './socket-writes';
import type { WrittenChunk } from './writer';

/** What keeps a connection's streams. */
export interface StreamOwner {
  /** A stream is over: nothing more is told of it. */
  forget(sequence: number): void;
}

/** What a protocol of streams says of the request in one. */
export interface StreamProtocol extends Protocol {
  /** The program ends the stream now: tells the engine, as far as it has not ended. */
  giveUp(): void;
}

/** Takes the bytes that begin a tunnel, until it has the head of an answer: what follows is the tunnel's. */
export interface TunnelHead {
  /** Flags of the record that the last byte goes with. */
  take(bytes: Uint8Array, flags: number): void;
  /** There is a head. */
  readonly isComplete: boolean;
  /** The answer opens no tunnel. */
  readonly isRefusal: boolean;
}

/** A stream of a connection of this environment's engine. */
export class Stream extends Connection {
  readonly sequence: number;
  readonly #origin: Connection;
  readonly #owner: StreamOwner;
  /** What the program writes to a tunnel that has not answered. */
  tunnelHead: TunnelHead | null = null;
  /** Nothing more is told of it. */
  #over = false;
  /** Our side of a tunnel has ended. */
  #ended = false;
  /** The peer's has. */
  #peerEnded = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(origin: Connection, sequence: number, owner: StreamOwner, begin: BeginProtocol) {
    // The end of most is told to no one: who counts scopes hears of it when they are collected.
    super(origin.lane, origin.server, origin.token, origin.flags, NO_ADDRESSES, begin, false);
    this.#origin = origin;
    this.#owner = owner;
    this.sequence = sequence;
    this.secure = origin.secure;
  }

  override get isStream(): boolean {
    return true;
  }

  override get origin(): Connection {
    return this.#origin;
  }

  /** A stream ends by itself. */
  override get closeFlag(): number {
    return 0;
  }

  override get addresses(): Addresses {
    return this.#origin.addresses;
  }

  override get isShared(): boolean {
    return !this.tunnel;
  }

  override traffic(): readonly [number, number] {
    return this.#origin.traffic();
  }

  protected override makeSocket(): LaneSocket {
    const socket = super.makeSocket();
    if (this.#over) this.#goLater();
    return socket;
  }

  /** Both sides have ended. A socket that the program holds closes when what runs now is through. */
  finish(): void {
    if (this.#over) return;
    this.#leave();
    if (this.hasSocket) this.#goLater();
  }

  /** The peer has given it up, or the connection has gone. */
  lose(): void {
    this.#leave();
    streamGone(this);
  }

  #leave(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#owner.forget(this.sequence);
  }

  #goLater(): void {
    setImmediate(() => {
      if (this.closed) return;
      // Programs ask late for the address of who sent the request.
      const { existingSocket } = this;
      void existingSocket?.remoteAddress;
      void existingSocket?.localAddress;
      this.resource.runInAsyncScope(streamGone, undefined, this);
    });
  }

  override close(): void {
    this.closed = true;
  }

  override abort(): void {
    if (this.closed || this.destroying) return;
    this.destroying = true;
    if (!this.#over) {
      this.lane.writer.submit();
      if (this.tunnel) this.#giveTunnelUp();
      else (this.protocol as StreamProtocol).giveUp();
      this.#leave();
    }
    this.#goLater();
  }

  #giveTunnelUp(): void {
    const { token, sequence, tunnelHead, lane: { writer } } = this;
    const isRefused = tunnelHead?.isRefusal === true;
    if (!this.#ended && !isRefused) return writer.reset(token, sequence, layout.RESET_CODE_CANCEL);
    // An answer goes out in full.
    if (!this.#ended) writer.end(token, sequence, 0, '');
    if (!this.#peerEnded) writer.discard(token, sequence);
  }

  override refuse(): void {
    this.abort();
  }

  override pause(): void {
    if (this.paused || this.#over) return;
    this.paused = true;
    this.lane.writer.aboutRequest(layout.COMMAND_PAUSE, this.token, this.sequence);
  }

  override resume(): void {
    if (!this.paused || this.#over) return;
    this.paused = false;
    this.lane.writer.aboutRequest(layout.COMMAND_RESUME, this.token, this.sequence);
  }

  /** Our side ends behind what has been handed over. An answer that is not complete can't be: the peer is told so. */
  override shutdown(): void {
    if (this.closed || this.#over) return;
    if (!this.tunnel) {
      if (this.protocol.isAwaitingEnd) this.abort();
    } else if (this.tunnelHead?.isComplete === false) {
      this.abort();
    } else if (!this.#ended) {
      this.#ended = true;
      this.lane.writer.end(this.token, this.sequence, 0, '');
      if (this.#peerEnded) this.finish();
    }
  }

  override sendRaw(flags: number, chunks: readonly WrittenChunk[], length: number): void {
    const { token, sequence, tunnelHead, lane: { writer } } = this;
    if (tunnelHead !== null && !tunnelHead.isComplete) {
      tunnelHead.take(Buffer.concat(chunks.map(({ chunk, encoding }) => toBytes(chunk, encoding))), flags);
    } else if (chunks.length === 1) {
      writer.data(token, sequence, flags, chunks[0].chunk, length, chunks[0].encoding);
    } else {
      writer.rawJoined(token, sequence, flags, chunks, length);
    }
  }

  /** Bytes of a tunnel have come. */
  receive(bytes: Buffer): void {
    this.noteActivity();
    const { laneSocket } = this;
    if (!laneSocket.destroyed && !receive(laneSocket, bytes)) this.pause();
  }

  /** The peer has ended its side of a tunnel. */
  receiveEnd(): void {
    this.#peerEnded = true;
    endReadable(this.laneSocket);
    if (this.#ended) this.finish();
  }

  /** The engine's timer is that of the connection, which other streams keep busy. */
  override setTimeout(milliseconds: number): void {
    this.timeoutMs = milliseconds;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (milliseconds <= 0 || this.#over) return;
    this.#timer = setTimeout(() => this.resource.runInAsyncScope(inactive, undefined, this), milliseconds).unref();
  }

  /** Something has been read or sent. */
  noteActivity(): void {
    this.#timer?.refresh();
  }

  override setRef(): void { /* The connection's other streams keep the event loop alive. */ }

  override setOptions(noDelay: number, keepAlive: number, delaySeconds: number): void {
    this.#origin.setOptions(noDelay, keepAlive, delaySeconds);
  }

  override takeOver(): void {
    this.tunnel = true;
  }

  override proceed(): void { /* A stream that was not taken over is an ordinary request. */ }
}
