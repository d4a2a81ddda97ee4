//! The records that an engine and an application exchange.
//!
//! Both directions are byte streams of records. A record is a sequence of 32-bit little-endian words, its size a
//! multiple of four bytes, followed by its payload (padded to four bytes):
//!
//! | word | meaning |
//! |---|---|
//! | 0 | size of the whole record in bytes, payload and padding included |
//! | 1 | kind in the low 8 bits, flags in the high 24 |
//! | 2 | connection token (or what the kind says) |
//!
//! Offsets inside a record count bytes from the record's first byte. 64-bit numbers take two words, low word first.
//!
//! A **connection token** is `slot | generation << 20`: 20 bits of slot, 11 bits of generation, so that it is a
//! non-negative 32-bit integer. An engine of several threads keeps a thread's index in the highest bits of the slot. A
//! command whose generation is not the slot's present one is ignored: it crossed with the connection's end. A
//! **sequence number** names a request on its connection, counted from 1.
//!
//! This table is the only source of these numbers: `make generate` writes the
//! TypeScript copy.

/// Version of the records and of the memory that carries them between processes. Both sides must have the same.
pub const LAYOUT_VERSION: u32 = 2;

/// Number of low bits of a connection token that hold the slot.
pub const SLOT_BITS: u32 = 20;
/// Mask of the slot in a connection token.
pub const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Number of bits that hold the generation.
pub const GENERATION_BITS: u32 = 11;

/// Bytes of a head (reason and field lines) that is kept under a number, at most.
pub const TEMPLATE_BYTES: u32 = 1 << 16;
/// Bytes of a request's head that an engine takes, at most, whatever a server allows.
pub const HEAD_BYTES: u32 = 8 << 20;
/// Bytes of a record between two processes, at most.
pub const RECORD_BYTES: u32 = 1 << 24;

/// Kinds of records from the engine to the application.
pub mod event {
    /// A connection, sent once, before anything else about it. At accept if the listener asks for it
    /// (`notify_open`), else just before the connection's first other event.
    ///
    /// `2` token, `3` listener, `4` family of the remote address (0 none, 4, 6) and `<< 8` of the local one,
    /// `5` remote port and `<< 16` local port, `6..10` remote address (16 bytes, network order; IPv4 in the first
    /// four), `10..14` local address, `14` IPv6 scope id of the remote address.
    /// Flags: [`super::open_flag`].
    pub const OPEN: u32 = 1;
    /// The TLS handshake of a connection is complete. Follows `OPEN`: at once where that has been sent, else together
    /// with it.
    ///
    /// `2` token, `3` protocol version (0x0303, 0x0304) and `<< 16` cipher suite number, `4` verification result
    /// (0 = no certificate asked for or verified; else the `portico_tls::VerifyError` number), `5`/`6` offset and
    /// length of the SNI name, `7`/`8` of the ALPN protocol, `9` number of peer certificates, `10` named group
    /// number of the key exchange, `11` offset of what is kept for later questions, `12` length of a Finished message,
    /// `13` length of the exporter's secret, `14` number of the client's signature schemes, `15..` offset and length of
    /// each certificate (DER). Flags: [`super::secure_flag`].
    /// For later questions: the server's Finished message, the client's, the secret, in TLS 1.2 the random bytes of client
    /// and server (32 each), and the signature schemes (two bytes each, high byte first). The reader wipes the secret.
    pub const SECURE: u32 = 2;
    /// A request head.
    ///
    /// `2` token, `3` sequence number, `4` method number (`portico_http::Method`) and `<< 8` HTTP minor version and
    /// `<< 16` number of header fields, `5`/`6` offset and length of the request target, `7`/`8` offset and length of
    /// the bytes that follow the head (only with `UPGRADE`, else 0), `9`/`10` Content-Length (both words all ones if
    /// there is none), then four words for each field: name number (`portico_http` header table, 0 = not in it) in
    /// the high and name length in the low 16 bits, name offset, value offset, value length.
    /// Payload: the bytes of the head as received. Flags: [`super::request_flag`].
    pub const REQUEST: u32 = 3;
    /// Bytes of a request's body: `2` token, `3` sequence number, `4`/`5` offset and length.
    /// Flags: [`super::body_flag`].
    pub const BODY: u32 = 4;
    /// The end of a request's body where it was not told by the head (`COMPLETE`) or the last `BODY` (`LAST`): of a
    /// chunked body, and of one that was dropped (`DISCARD`).
    ///
    /// `2` token, `3` sequence number, `4` number of trailer fields, then four words each as in `REQUEST`.
    pub const END: u32 = 5;
    /// A connection has gone; its token is dead. Its socket may live on for a while, unseen, so that the last answer is
    /// not reset. A `FLUSHED` that is due comes before.
    ///
    /// `2` token, `3` errno (0 = orderly), `4`/`5` bytes read, `6`/`7` bytes written.
    pub const CLOSED: u32 = 6;
    /// Output that the application asked about (`ACK`) has been handed to the kernel.
    ///
    /// `2` token, `3` number of acknowledged records since the last `FLUSHED`, `4` bytes still queued. The flag
    /// [`super::flushed_flag::NAMED`]: `5` says which request's they are.
    pub const FLUSHED: u32 = 7;
    /// The peer broke the protocol. Parsing has stopped; the connection stays open for the application's answer
    /// (`RAW`, then `SHUTDOWN` or `DESTROY`). What the peer still sends is not parsed: until the application has said what
    /// becomes of the connection, each packet is told with the same error, 0 bytes parsed. Its end is told (`PEER_END`).
    ///
    /// `2` token, `3` error number (`portico_http::ParseErrorCode`), `4` bytes of the packet parsed before the error,
    /// `5`/`6` offset and length of the packet.
    pub const CLIENT_ERROR: u32 = 8;
    /// A deadline passed: `2` token, `3` which ([`super::timeout_kind`]). The engine takes no action of its own.
    pub const TIMEOUT: u32 = 9;
    /// Bytes on a connection that was taken over: `2` token, `4`/`5` offset and length.
    pub const RAW: u32 = 10;
    /// The peer has ended its side (FIN, or close_notify). `2` token. In HTTP mode sent only while a request is in
    /// flight or after `CLIENT_ERROR`; else the engine closes the connection.
    pub const PEER_END: u32 = 11;
    /// A ClientHello awaits its certificate: `2` token, `3` listener, `4`/`5` offset and length of the SNI name.
    /// Answer with `SERVER_NAME`. A ClientHello without a name is not asked about, as in Node.
    pub const SERVER_NAME: u32 = 12;
    /// A ClientHello awaits its ALPN protocol: `2` token, `3` listener, `4`/`5` the SNI name, `6`/`7` the offered
    /// protocols, each with a length byte before it. Answer with `ALPN`.
    pub const ALPN: u32 = 13;
    /// A line for the key log: `2` token, `3` listener, `4`/`5` offset and length.
    pub const KEY_LOG: u32 = 14;
    /// A TLS handshake failed: `2` token (0 if the connection was never opened), `3` listener, `4`/`5` offset and
    /// length of `CODE message`. The engine ends the connection: `CLOSED` follows if it was opened.
    pub const TLS_ERROR: u32 = 15;
    /// A connection was refused for `max_connections`: `2` 0, `3` listener, `4..15` addresses as in `OPEN`.
    pub const DROPPED: u32 = 16;
    /// Accepting failed: `2` 0, `3` listener, `4` errno. Accepting goes on after a pause.
    pub const ACCEPT_ERROR: u32 = 17;
    /// The last connection of a closed listener (on this thread) has gone without a `CLOSED`, since it was never
    /// opened: `2` 0, `3` listener.
    pub const DRAINED: u32 = 18;
    /// A host takes more of an answer: `2` token, `3` sequence number (0: the bytes of a connection that was taken
    /// over), `4`/`5` bytes of records about it that it takes in all. For the application's end of the channel, which
    /// keeps it to itself; see `shared::ANSWER_WINDOW_BYTES`.
    pub const CREDIT: u32 = 19;
}

/// Flags of [`event::OPEN`].
pub mod open_flag {
    /// The connection is TLS.
    pub const TLS: u32 = 1;
    /// The listener is a Unix socket.
    pub const UNIX: u32 = 2;
}

/// Flags of [`event::SECURE`].
pub mod secure_flag {
    /// The session was resumed.
    pub const RESUMED: u32 = 1;
    /// A client certificate was asked for.
    pub const CERTIFICATE_REQUESTED: u32 = 2;
}

/// Flags of [`event::REQUEST`].
pub mod request_flag {
    /// The connection may be kept after this request (RFC 9112, 9.3).
    pub const KEEP_ALIVE: u32 = 1;
    /// There is no body, or it is empty: nothing more will come for this request.
    pub const COMPLETE: u32 = 2;
    /// The body is chunked.
    pub const CHUNKED: u32 = 4;
    /// `Expect: 100-continue`.
    pub const EXPECT_CONTINUE: u32 = 8;
    /// Another `Expect`.
    pub const EXPECT_OTHER: u32 = 16;
    /// `Connection: upgrade` with `Upgrade`, or CONNECT. Parsing waits for `TAKE_OVER` or `PROCEED`.
    pub const UPGRADE: u32 = 32;
    /// `maxRequestsPerSocket` is exceeded by this request: answer 503 and close (as in Node).
    pub const OVER_LIMIT: u32 = 64;
    /// This is the last request that `maxRequestsPerSocket` allows.
    pub const LAST_ALLOWED: u32 = 128;
    /// There is at least one `Host` field.
    pub const HAS_HOST: u32 = 256;
}

/// Flags of [`event::BODY`].
pub mod body_flag {
    /// Last bytes; there are no trailers and no `END` will follow.
    pub const LAST: u32 = 1;
}

/// Flags of `FLUSHED`.
pub mod flushed_flag {
    /// The records are those of the request in word 5; 0: of the tunnel. Without it they are the oldest, in the order of
    /// requests. A host names them: a process need not have got the requests of a connection in their order.
    pub const NAMED: u32 = 1;
}

/// Values of [`event::TIMEOUT`].
pub mod timeout_kind {
    /// No activity for the time set by the listener's `timeout` or by `SET_TIMEOUT`.
    pub const INACTIVE: u32 = 0;
    /// No complete head within `headers_timeout`, or no complete request within `request_timeout`.
    pub const REQUEST: u32 = 1;
    /// No new request within `keep_alive_timeout`.
    pub const KEEP_ALIVE: u32 = 2;
    /// No complete TLS handshake within `handshake_timeout`.
    pub const HANDSHAKE: u32 = 3;
}

/// Kinds of records from the application to the engine. `2` is the connection token unless said otherwise,
/// `3` the request's sequence number.
pub mod command {
    /// A response head, and the first or only bytes of the body.
    ///
    /// `4` status, `5` template (0: none), `6` length of the reason phrase, `7` length of the field lines
    /// (`name: value\r\n` each; both 0 with a template), `8` length of the body bytes in this record, `9`/`10`
    /// Content-Length. Payload: reason, field lines, body. Flags: [`super::response_flag`].
    ///
    /// The engine writes, in this order: the status line, the field lines, `Date`, `Connection`, `Keep-Alive`,
    /// `Content-Length` or `Transfer-Encoding` as the flags say.
    pub const RESPOND: u32 = 1;
    /// More body: `4` length, payload. Flags `END`, `ACK`, `EXTERNAL`.
    pub const DATA: u32 = 2;
    /// The end of the body: `4` length of the trailer lines, payload. Flag `ACK`.
    pub const END: u32 = 3;
    /// An interim (1xx) response: `4` length, payload: its bytes with the final blank line. Flag `ACK`.
    pub const INFORM: u32 = 4;
    /// Hand over no more of the body of request `3`: its reader is behind. It ends with that body, however the body
    /// ends, and is nothing if that has ended already. With sequence number 0: read nothing more from the connection,
    /// which is a byte stream or a socket that the program has paused.
    pub const PAUSE: u32 = 5;
    /// Hand over again what the `PAUSE` with the same sequence number has stopped.
    pub const RESUME: u32 = 6;
    /// Drop the rest of this request's body: no more `BODY` comes, whatever is paused, only the `END`.
    pub const DISCARD: u32 = 7;
    /// Bytes as they are (after `TAKE_OVER`, or as the answer to `CLIENT_ERROR`): `4` length, payload.
    /// Flags `ACK`, `EXTERNAL`.
    pub const RAW: u32 = 8;
    /// Send what is queued, then end our side (FIN); answers that are given later are dropped, what the peer sends is
    /// told as before. With flag 1 (`SHUTDOWN_CLOSE`): then close.
    pub const SHUTDOWN: u32 = 9;
    /// Close now; what is queued and the kernel does not take at once is lost. With flag 1 (`DESTROY_RESET`): with a reset. `CLOSED` follows.
    /// With a sequence number (`3`): the answer to that request is given up. When its turn comes the connection ends
    /// behind the answers before it; what is held back of it is not sent.
    pub const DESTROY: u32 = 10;
    /// Inactivity timeout of this connection: `4` milliseconds, 0 = none.
    pub const SET_TIMEOUT: u32 = 11;
    /// TCP options: `4` no-delay (0 off, 1 on, 2 leave), `5` keep-alive likewise, `6` keep-alive delay in seconds.
    pub const SET_SOCKET: u32 = 12;
    /// The application takes the connection as a byte stream (upgrade, CONNECT).
    pub const TAKE_OVER: u32 = 13;
    /// The upgrade is not wanted: the request is an ordinary one.
    pub const PROCEED: u32 = 14;
    /// Answer to the event `SERVER_NAME`: `4` TLS context number; 0: what the listener has for the name; -1: refuse.
    pub const SERVER_NAME: u32 = 15;
    /// Answer to the event `ALPN`: `4` length, payload: the protocol; length 0: refuse (no_application_protocol);
    /// length -1: go on without ALPN.
    pub const ALPN: u32 = 16;
    /// Close the idle connections of a listener: `2` listener. With flag 1 (`CLOSE_UNSENT`) also those whose last
    /// answer is still to be sent, after that; with flag 2 (`CLOSE_SILENT`) also those that have not begun a request yet.
    pub const CLOSE_IDLE: u32 = 17;
    /// Close all connections of a listener: `2` listener.
    pub const CLOSE_ALL: u32 = 18;
    /// Keep a head for later `RESPOND`s: `2` template number (1 to 255), `3` length of the reason, `4` length of the
    /// field lines; payload: both.
    pub const TEMPLATE: u32 = 19;
    /// Bytes that are to be parsed as if the peer had sent them, behind what has been received: `4` length, payload.
    /// Flag `EXTERNAL`.
    pub const FEED: u32 = 20;
    /// Bytes of a record that is too large for the memory between two processes: `4` length, payload. Flag `END` with
    /// the last ones; the parts of a record follow each other. Written by the application's end of the channel, put
    /// together by the host: no engine sees it.
    pub const PART: u32 = 21;
}

/// Flags of [`command::RESPOND`], [`command::DATA`], [`command::END`], [`command::INFORM`], [`command::RAW`] and
/// [`command::FEED`].
pub mod response_flag {
    /// The response is complete with this record.
    pub const END: u32 = 1;
    /// Tell (`FLUSHED`) when everything up to this record has been handed to the kernel.
    pub const ACK: u32 = 2;
    /// Add `Date`.
    pub const DATE: u32 = 4;
    /// Add `Connection: close`.
    pub const CONNECTION_CLOSE: u32 = 8;
    /// Add `Connection: keep-alive`.
    pub const CONNECTION_KEEP_ALIVE: u32 = 16;
    /// Add `Keep-Alive: timeout=N` (and `, max=M` where the listener has `max_requests_per_socket`).
    pub const KEEP_ALIVE: u32 = 32;
    /// Add `Content-Length` from words 9 and 10.
    pub const CONTENT_LENGTH: u32 = 64;
    /// Add `Transfer-Encoding: chunked`.
    pub const TRANSFER_ENCODING: u32 = 128;
    /// Frame the body as chunks (the field itself may come from the application).
    pub const CHUNKED: u32 = 256;
    /// The connection ends after this response.
    pub const CLOSE: u32 = 512;
    /// The body bytes are not in the record but in the buffer handed over with the submission
    /// (the record is the submission's last).
    pub const EXTERNAL: u32 = 1024;
}

/// Flag of [`command::CLOSE_IDLE`].
pub const CLOSE_UNSENT: u32 = 1;
/// Flag of [`command::CLOSE_IDLE`].
pub const CLOSE_SILENT: u32 = 2;
/// Flag of [`command::SHUTDOWN`].
pub const SHUTDOWN_CLOSE: u32 = 1;
/// Flag of [`command::DESTROY`].
pub const DESTROY_RESET: u32 = 1;
