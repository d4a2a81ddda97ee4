/**
 * What a session tells its client, and hears of it, beside streams: settings, pings, GOAWAY, alternative services, origins and
 * the connection's window. Arguments are checked with Node's errors; the frames are the engine's.
 */

import { constants, getPackedSettings, getUnpackedSettings, type Settings as PlainSettings } from 'node:http2';
import { performance } from 'node:perf_hooks';
import { AsyncResource } from 'node:async_hooks';
import process = require('node:process');
import {
  SESSION_COMMAND_ALTSVC, SESSION_COMMAND_GOAWAY, SESSION_COMMAND_ORIGIN, SESSION_COMMAND_PING, SESSION_COMMAND_SETTINGS,
  SESSION_COMMAND_SHUT_DOWN, SESSION_COMMAND_WINDOW, SESSION_EVENT_FAILED, SESSION_EVENT_GOAWAY, SESSION_EVENT_LOCAL_SETTINGS,
  SESSION_EVENT_PEER_SETTINGS, SESSION_EVENT_PING, SESSION_EVENT_PING_ANSWERED, SESSION_EVENT_PUSHED,
} from '../generated/layout';
import { checkBuffer, checkFunction, checkNumber } from './arguments';
import * as errors from './errors';
import type { Link, ServerHttp2Session } from './session';

/** As Node shows and takes them. */
export type Settings = Omit<PlainSettings, 'customSettings'> & { maxHeaderSize?: number; customSettings?: Record<string, number> };

type SettingsDone = (error: Error | null, settings?: Settings, duration?: number) => void;
type PingDone = (error: Error | null, duration?: number, payload?: Buffer) => void;

/** Settings on their way. */
interface PendingSettings {
  readonly resource: AsyncResource;
  readonly settings: Settings;
  readonly done: SettingsDone | undefined;
  readonly begun: number;
}

interface PendingPing {
  readonly resource: AsyncResource;
  readonly done: PingDone;
  readonly begun: number;
}

const { NGHTTP2_NO_ERROR } = constants;
/** As in Node. */
const MAX_OUTSTANDING = 10;
/** Bytes that fit into a frame of the smallest size, behind its two lengths. */
const MAX_FRAME_TEXT = 16_382;
const MAX_WINDOW = 0x7fffffff;
/** What holds until something else is agreed (RFC 9113, section 6.5.2). */
const INITIAL: Settings = {
  headerTableSize: 4096, enablePush: true, initialWindowSize: 65_535, maxFrameSize: 16_384, maxConcurrentStreams: 0xffffffff,
  maxHeaderListSize: 0xffffffff, maxHeaderSize: 0xffffffff, enableConnectProtocol: false,
};

/** The session's own frames. */
export class SessionFrames {
  readonly #session: ServerHttp2Session;
  readonly #link: Link;
  readonly #settings: PendingSettings[] = [];
  readonly #pings: PendingPing[] = [];
  #local: Settings = INITIAL;
  #remote: Settings = INITIAL;
  #window = 65_535;
  #saidGoodbye = false;
  /** The client's first settings have come. */
  hasBegun: boolean;
  #whenBegun: (() => void) | undefined;

  /** `isHosted`: the session is a host's, which tells nothing of it. */
  constructor(session: ServerHttp2Session, link: Link, isHosted: boolean) {
    this.hasBegun = isHosted;
    this.#session = session;
    this.#link = link;
    // The engine sends the server's own with its first bytes.
    const { settings = {}, origins } = session.options;
    const { customSettings } = settings as Settings;
    if (customSettings !== undefined) this.#local = { ...INITIAL, customSettings };
    this.#settings.push({ resource: scope('HTTP2SETTINGS'), settings, done: undefined, begun: performance.now() });
    if (Array.isArray(origins)) this.origins(origins);
  }

  /** Event `SESSION`. */
  receive(subject: number, stream: number, code: number, bytes: Buffer): void {
    switch (subject) {
      case SESSION_EVENT_PEER_SETTINGS: return this.#receiveSettings(bytes);
      case SESSION_EVENT_LOCAL_SETTINGS: return this.#settingsAcknowledged(bytes);
      case SESSION_EVENT_PING: return this.#receivePing(bytes);
      case SESSION_EVENT_PING_ANSWERED: return this.#pingAnswered(bytes);
      case SESSION_EVENT_GOAWAY: return this.#session.receiveGoAway(code, stream, bytes.length > 0 ? bytes : undefined);
      case SESSION_EVENT_FAILED: return this.#session.fail(code, bytes.toString());
      case SESSION_EVENT_PUSHED: return this.#session.pushes.promised(stream, code);
      default:
    }
  }

  get localSettings(): Settings {
    return this.#local;
  }

  get remoteSettings(): Settings {
    return this.#remote;
  }

  get pendingSettings(): number {
    return this.#settings.length;
  }

  /** As far as it is known here: what the engine counts is told as at the start. */
  state(): object {
    const { lastStreamId } = this.#session;
    return {
      effectiveLocalWindowSize: this.#window, effectiveRecvDataLength: 0, nextStreamID: 2, localWindowSize: this.#window,
      lastProcStreamID: lastStreamId, remoteWindowSize: 65_535, outboundQueueSize: 0, deflateDynamicTableSize: 0, inflateDynamicTableSize: 0,
    };
  }

  #send(send: (link: Link) => void): void {
    this.#session.noteActivity();
    if (this.#session.link !== undefined) send(this.#link);
  }

  // Settings.

  changeSettings(settings: Settings | undefined, done: SettingsDone | undefined): void {
    // Checks them.
    const packed = getPackedSettings(settings as PlainSettings);
    if (done !== undefined) checkFunction('callback', done);
    const { maxOutstandingSettings = MAX_OUTSTANDING } = this.#session.options;
    if (this.#settings.length >= maxOutstandingSettings) {
      this.#session.destroy(errors.http2Error('ERR_HTTP2_MAX_PENDING_SETTINGS_ACK'));
      return;
    }
    this.#settings.push({ resource: scope('HTTP2SETTINGS'), settings: { ...settings }, done, begun: performance.now() });
    this.#send(({ writer, token }) => writer.session(token, SESSION_COMMAND_SETTINGS, 0, 0, packed));
  }

  /** The client has taken the oldest of ours. */
  #settingsAcknowledged(packed: Buffer): void {
    const pending = this.#settings.shift();
    if (pending === undefined) return;
    const { customSettings } = pending.settings;
    this.#local = { ...this.#local, ...getUnpackedSettings(packed) as Settings, ...(customSettings !== undefined && { customSettings }) };
    run(pending.resource, () => {
      pending.done?.(null, this.#local, performance.now() - pending.begun);
      this.#session.emit('localSettings', this.#local);
    });
  }

  /** The client's have come. */
  #receiveSettings(packed: Buffer): void {
    const { customSettings, ...settings } = getUnpackedSettings(packed) as Settings;
    const wanted = this.#session.options.remoteCustomSettings ?? [];
    const custom = { ...this.#remote.customSettings };
    for (const [id, value] of Object.entries(customSettings ?? {})) if (wanted.includes(Number(id))) custom[id] = value;
    this.#remote = { ...this.#remote, ...settings, ...(Object.keys(custom).length > 0 && { customSettings: custom }) };
    this.#session.noteActivity();
    this.#session.emit('remoteSettings', this.#remote);
    this.hasBegun = true;
    this.#whenBegun?.();
    this.#whenBegun = undefined;
  }

  /** Runs what is to be sent behind the session's beginning. */
  whenBegun(action: () => void): void {
    if (this.hasBegun) action();
    else this.#whenBegun = action;
  }

  // Pings.

  ping(payload?: unknown, callback?: unknown): boolean {
    if (typeof payload === 'function') [payload, callback] = [undefined, payload];
    if (payload !== undefined && payload !== null) {
      checkBuffer('payload', payload);
      if (payload.byteLength !== 8) throw errors.http2Error('ERR_HTTP2_PING_LENGTH');
    }
    checkFunction('callback', callback);
    const done = callback as PingDone;
    if (this.#session.closed) {
      process.nextTick(done, errors.http2Error('ERR_HTTP2_PING_CANCEL'));
      return false;
    }
    const { maxOutstandingPings = MAX_OUTSTANDING } = this.#session.options;
    if (this.#pings.length >= maxOutstandingPings) {
      done(errors.http2Error('ERR_HTTP2_PING_CANCEL'));
      return false;
    }
    const begun = performance.now();
    const bytes = payload === undefined || payload === null ? timeAsBytes(begun) : asBuffer(payload);
    this.#pings.push({ resource: scope('HTTP2PING'), done, begun });
    this.#send(({ writer, token }) => writer.session(token, SESSION_COMMAND_PING, 0, 0, bytes));
    return true;
  }

  #receivePing(payload: Buffer): void {
    this.#session.noteActivity();
    this.#session.emit('ping', payload);
  }

  #pingAnswered(payload: Buffer): void {
    const pending = this.#pings.shift();
    if (pending === undefined) return this.#session.destroy(errors.protocolError(constants.NGHTTP2_PROTOCOL_ERROR));
    run(pending.resource, () => pending.done(null, performance.now() - pending.begun, payload));
  }

  // The rest.

  goAway(code: unknown = NGHTTP2_NO_ERROR, lastStreamId: unknown = 0, opaqueData?: unknown): void {
    if (opaqueData !== undefined) checkBuffer('opaqueData', opaqueData);
    checkNumber('code', code);
    checkNumber('lastStreamID', lastStreamId);
    const bytes = opaqueData === undefined ? NO_BYTES : asBuffer(opaqueData as NodeJS.ArrayBufferView);
    const last = lastStreamId > 0 ? lastStreamId : this.#session.lastStreamId;
    this.#saidGoodbye = code !== NGHTTP2_NO_ERROR;
    this.#send(({ writer, token }) => writer.session(token, SESSION_COMMAND_GOAWAY, last, code, bytes));
  }

  /** The session is destroyed: the client is told why, unless the program has told it. */
  sayGoodbye(code: number): void {
    if (!this.#saidGoodbye && code !== NGHTTP2_NO_ERROR) this.goAway(code);
  }

  /** No more streams: the engine refuses new ones. */
  shutDown(): void {
    this.#send(({ writer, token }) => writer.session(token, SESSION_COMMAND_SHUT_DOWN, 0, 0, NO_BYTES));
  }

  alternative(alt: unknown, originOrStream: unknown): void {
    const { stream, origin } = whereOf(originOrStream);
    if (typeof alt !== 'string') throw errors.invalidType('alt', 'of type string', alt);
    if (!/^[\t\x20-\x5b\x5d-\x7e\x80-\xff]*$/.test(alt)) throw errors.invalidCharacter('alt');
    if (alt.length + origin.length > MAX_FRAME_TEXT) throw errors.http2Error('ERR_HTTP2_ALTSVC_LENGTH');
    this.#send(({ writer, token }) => writer.session(token, SESSION_COMMAND_ALTSVC, stream, origin.length, Buffer.from(origin + alt, 'latin1')));
  }

  origins(given: readonly unknown[]): void {
    if (given.length === 0) return;
    const origins = given.map((origin) => {
      const text: unknown = typeof origin === 'string' ? originOf(origin)
        : typeof origin === 'object' && origin !== null ? (origin as { origin?: unknown }).origin : origin;
      if (typeof text !== 'string') throw errors.invalidType('origin', 'of type string', text);
      if (text === 'null') throw errors.http2Error('ERR_HTTP2_INVALID_ORIGIN');
      return text;
    });
    if (origins.join('').length > MAX_FRAME_TEXT) throw errors.http2Error('ERR_HTTP2_ORIGIN_LENGTH');
    this.#send(({ writer, token }) => writer.session(token, SESSION_COMMAND_ORIGIN, 0, 0, Buffer.concat(origins.map(originEntry))));
  }

  setWindow(size: unknown): void {
    checkNumber('windowSize', size);
    if (!Number.isInteger(size)) throw errors.outOfRange('windowSize', 'an integer', size);
    if (size < 0 || size > MAX_WINDOW) throw errors.outOfRange('windowSize', `>= 0 && <= ${MAX_WINDOW}`, size);
    this.#window = size;
    this.#send(({ writer, token }) => writer.session(token, SESSION_COMMAND_WINDOW, 0, size, NO_BYTES));
  }

  /** The session is over: no answers come any more. */
  cancel(): void {
    for (const { done, resource } of this.#pings.splice(0)) run(resource, () => done(errors.http2Error('ERR_HTTP2_PING_CANCEL')));
    for (const { resource } of this.#settings.splice(0)) resource.emitDestroy();
  }
}

const NO_BYTES = Buffer.alloc(0);

function scope(type: string): AsyncResource {
  return new AsyncResource(type, { requireManualDestroy: true });
}

/** Runs what a scope was made for, which is its end. */
function run(resource: AsyncResource, action: () => void): void {
  try {
    resource.runInAsyncScope(action);
  } finally {
    resource.emitDestroy();
  }
}

/** What an ALTSVC frame is about. */
function whereOf(given: unknown): { stream: number; origin: string } {
  if (given === undefined) return { stream: 0, origin: '' };
  if (typeof given === 'number') {
    if (given >>> 0 !== given || given === 0) throw errors.outOfRange('originOrStream', `> 0 && < ${2 ** 32}`, given);
    return { stream: given, origin: '' };
  }
  const origin: unknown = typeof given === 'string' ? originOf(given) : (given as { origin?: unknown } | null)?.origin;
  if (typeof origin !== 'string') {
    throw errors.invalidType('originOrStream', 'one of type string, number, or object or an instance of URL', given);
  }
  if (origin === 'null' || origin.length === 0) throw errors.http2Error('ERR_HTTP2_ALTSVC_INVALID_ORIGIN');
  return { stream: 0, origin };
}

function originOf(url: string): string {
  return new URL(url).origin;
}

/** An entry of an ORIGIN frame: its length, then the origin. */
function originEntry(origin: string): Buffer {
  const entry = Buffer.alloc(2 + origin.length);
  entry.writeUInt16BE(origin.length);
  entry.write(origin, 2, 'latin1');
  return entry;
}

function timeAsBytes(time: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(time);
  return bytes;
}

function asBuffer({ buffer, byteOffset, byteLength }: NodeJS.ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
