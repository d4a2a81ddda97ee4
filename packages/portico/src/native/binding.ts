/**
 * The add-on's interface, as TypeScript sees it. Nothing here has logic: `crates/portico-node` implements it.
 * Records that travel through `slab` and `commands` are described in `docs/records.md`.
 */

/** Settings of a listener. Times are milliseconds, sizes bytes; 0 switches a limit off unless said otherwise. */
export interface ListenerOptions {
  /** Send `OPEN` at accept, not just before the connection's first other event. */
  notifyOpen: boolean;
  headersTimeout: number;
  requestTimeout: number;
  /** Time an idle connection is kept; the buffer is added to what is told to clients. */
  keepAliveTimeout: number;
  keepAliveTimeoutBuffer: number;
  /** Inactivity timeout of a connection. */
  timeout: number;
  connectionsCheckingInterval: number;
  maxRequestsPerSocket: number;
  /** 0: no limit. */
  maxHeadersCount: number;
  /** Bytes of a request head, request line included. 0 is the default of Node, 16384 (`--max-http-header-size`). */
  maxHeaderSize: number;
  /** Refuse a request with more than one Host, or one that is none; Node accepts them. */
  strictHost: boolean;
  /** -1: no limit. */
  maxConnections: number;
  noDelay: boolean;
  keepAlive: boolean;
  /** Milliseconds. */
  keepAliveInitialDelay: number;
  /** Bytes of output queued for a connection beyond which no further pipelined request is read. */
  highWaterMark: number;
  /** Number of the default TLS context, 0 for a plain listener. */
  tls: number;
  /** Ask (`SERVER_NAME`) for the context of each ClientHello. */
  askServerName: boolean;
  /** Ask (`ALPN`) for the protocol of each ClientHello that offers some. */
  askAlpn: boolean;
  handshakeTimeout: number;
  /** Versions of HTTP, as ALPN names them: `h2`, `http/1.1`. In the clear, how the client begins tells which. Missing: HTTP/1. */
  protocols?: readonly string[] | undefined;
  /** Of connections that speak HTTP/2. What is left out has Portico's default. */
  http2?: Http2Options | undefined;
  /** Tell of sessions of HTTP/2 (`SESSION`), and of requests whose method has no number: it is 0 then, and the first field is `:method`. */
  notifySession?: boolean | undefined;
}

/** Settings and limits of a session of HTTP/2 (RFC 9113, 6.5.2). */
export interface Http2Options {
  headerTableSize?: number;
  maxConcurrentStreams?: number;
  initialWindowSize?: number;
  maxFrameSize?: number;
  maxHeaderListSize?: number;
  enableConnectProtocol?: boolean;
  /** Bytes of all request bodies that may be under way or unread. */
  connectionWindow?: number;
  /** Fields of a section. */
  maxFields?: number;
  /** Bytes of the dynamic table that answers are encoded with. */
  encoderTableSize?: number;
  /** Streams at once that may have errors, before the session ends. */
  maxInvalidFrames?: number;
  /** Streams at once that a client may reset. */
  streamResetBurst?: number;
  /** And each second later. */
  streamResetRate?: number;
}

/** One key with its certificate chain. */
export interface TlsIdentity {
  /** Certificates, leaf first, DER. */
  chain: Uint8Array[];
  /** PKCS#8 DER, not encrypted. */
  key: Uint8Array;
}

/** What a TLS context is made of. Strings in OpenSSL's words are translated before they get here. */
export interface TlsContextOptions {
  identities: TlsIdentity[];
  /** PKCS#12 file instead of identities. */
  pfx?: { data: Uint8Array; passphrase: string }[];
  /** Trust anchors for client certificates, DER. */
  ca: Uint8Array[];
  /** Certificate revocation lists, DER. */
  crl: Uint8Array[];
  requestCert: boolean;
  rejectUnauthorized: boolean;
  /** Any certificate of `ca` may end a chain. */
  allowPartialTrustChain?: boolean;
  /** ALPN protocols in order of preference. */
  alpn: string[];
  /** 0x0303 or 0x0304. */
  minVersion: number;
  maxVersion: number;
  /** IANA numbers in order of preference; empty: the library's default. */
  cipherSuites: number[];
  /** IANA numbers in order of preference; empty: the library's default. */
  namedGroups: number[];
  /** Seconds. */
  sessionTimeout: number;
  /** 48 bytes as in Node's `ticketKeys`; empty: made at random and rotated. */
  ticketKeys: Uint8Array;
  /** Send `KEY_LOG` events. */
  keyLog: boolean;
  /** The server's order of cipher suites counts (Node's default), not the client's. */
  honorCipherOrder: boolean;
  /** Hand out session tickets; without them sessions are resumed by id from the server's memory. */
  tickets: boolean;
  /** IANA numbers of the signature schemes that may be used, for our signatures and the client's; empty: all. */
  signatureSchemes: number[];
}

/** Counters of an engine, for tests and for telling that it is really used. */
export interface EngineCounters {
  connectionsAccepted: number;
  connectionsOpen: number;
  requests: number;
  responses: number;
  bytesRead: number;
  bytesWritten: number;
}

export interface EngineOptions {
  /** 0: driven inline by this environment's event loop; N: that many threads of its own. */
  threads: number;
  /**
   * Words shared with the add-on. `[0]`: bytes of `commands` not yet submitted; the add-on takes them after each
   * batch and before the event loop sleeps, and sets the word to 0. `[1]`: byte offset in the slab of the event in
   * work, `[2]`: end of the batch; if `onEvents` throws, it is called again from `[1]`. `[3]` counts
   * how often the event loop has woken the engine; there may be several batches in one wake.
   */
  state: Int32Array;
  /** Where commands are written. */
  commands: Uint8Array;
  /** Events lie in the current slab from byte `start` to `end`. Called once a batch, in a callback scope. */
  onEvents(start: number, end: number): void;
  /** The current slab has less than `bytes` left: call `setSlab` with a new one. */
  onSlabNeeded(bytes: number): void;
}

export interface Engine {
  setSlab(slab: Uint8Array): void;
  /**
   * Applies `commands[0..length]` and sends; `commands` are those of the options unless given, and are read before this
   * returns. `external` is the body of the last record (flag `EXTERNAL`): what is not sent at once stays where it is and
   * is kept from being collected until it has been. With the token of a `connection`: whether the kernel has taken all
   * output of it that was given in its turn; `false` where the engine has threads of its own, or is a host's.
   */
  submit(length: number, external?: Uint8Array, commands?: Uint8Array, connection?: number): boolean | undefined;
  /**
   * Takes a copy of a bound socket, listens on it and accepts. Returns the listener's number.
   * Throws an Error with `code`, `errno` and `syscall` when listen(2) fails.
   */
  listen(fd: number, backlog: number, options: ListenerOptions): number;
  /** A listener without a socket of its own: connections come by `adopt`. */
  createListener(options: ListenerOptions): number;
  /** Takes a copy of a connected socket as a new connection of the listener. */
  adopt(listener: number, fd: number): void;
  updateListener(listener: number, options: ListenerOptions): void;
  /** Stops accepting. Its connections live on. */
  closeListener(listener: number): void;
  connectionCount(listener: number): number;
  /** Bytes that a connection has read and that the kernel has taken of it; empty if it has gone. */
  connectionTraffic(connection: number): number[];
  createTlsContext(options: TlsContextOptions): number;
  releaseTlsContext(context: number): void;
  /** Uses a context for SNI names that match the pattern (`*.example.com` or a name). Later ones win. */
  addServerName(listener: number, pattern: string, context: number): void;
  /** Whether the listener keeps the event loop alive; it does from the start (its connections do in any case). */
  setRef(listener: number, ref: boolean): void;
  /** Whether a connection keeps the event loop alive. */
  setConnectionRef(connection: number, ref: boolean): void;
  counters(): EngineCounters;
  /**
   * Keeps answers from now on: those that ask for it (`CACHE`), and with a `lifetime`, in milliseconds, all others too;
   * with `standard` all as their Cache-Control says. Does nothing where the engine is a host's.
   */
  useCache(lifetime?: number, standard?: boolean): void;
  /** Ends all threads and connections. The engine can't be used afterwards. */
  destroy(): void;
}

/** What came of asking a host for a registration. */
export interface HostConnection {
  /** The host's answer, a line of JSON; empty if there was none. */
  readonly answer: string;
  /** Why there is no answer. */
  readonly failure: string;
  /** The code of that failure. */
  readonly failureCode: string;
  /** The control socket that this is about. */
  readonly socket: string;
  /** No host is running, and an application may start one on that socket. */
  readonly mayBeStarted: boolean;
  /** Whether the answer came with channels. */
  readonly hasEngine: boolean;
  /** A copy of the control connection's descriptor; whoever takes it closes it. Before `createEngine`. */
  takeControl(): number;
  /** Gives the registration up. */
  discard(): void;
  /** Hangs the channels into the event loop. Its only listener has number 0. `threads` is not looked at. Once. */
  createEngine(options: EngineOptions): Engine;
}

/** What the process's cache has done since its start, and holds. */
export interface CacheStats {
  /** Requests that were answered with what was stored. */
  hits: number;
  /** Those of them that had waited for the answer to an equal one. */
  collapsed: number;
  /** Requests for which nothing was stored. */
  misses: number;
  /** Answers that are stored. */
  entries: number;
  /** Bytes that they take. */
  bytes: number;
  /** Bytes that they may take. */
  budgetBytes: number;
  /** Answers that were stored. */
  stored: number;
  /** Answers that made room for others. */
  evicted: number;
  /** Answers that went because they were of no more use. */
  expired: number;
  /** Answers that were purged, or made invalid by a request that changed something. */
  purged: number;
}

/** What a purge goes by. */
export type PurgeKind = 'url' | 'prefix' | 'tag' | 'all';

export interface Binding {
  /** Of the crate that the add-on was built from: that of the package. */
  version(): string;
  /** Fingerprint of the records that it was built with: `FINGERPRINT` of `generated/layout.ts`. */
  records(): number;
  createEngine(options: EngineOptions): Engine;
  cacheStats(): CacheStats;
  /** Returns how many answers went. Holds, when it returns, for all engines of the process. */
  purgeCache(kind: PurgeKind, text: string): number;
  /** Finds the host, sends it a line and waits for its answer, in the background. */
  connectHost(request: string): Promise<HostConnection>;
  /**
   * Makes the folder of a control socket, and opens the log of the host that is to be started there. The caller closes
   * the descriptor. Throws if others could have put something into the folder.
   */
  openHostLog(socket: string, log: string): number;
}
