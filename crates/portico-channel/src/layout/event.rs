//! Records from the engine to the application.

use crate::schema::{Range, group, records};

group! {
    /// The addresses of both ends of a connection.
    Endpoints {
        /// Family of the remote address: 0 none, 4, 6.
        remote_family: u16,
        /// Family of the local one.
        local_family: u16,
        /// Remote port.
        remote_port: u16,
        /// Local port.
        local_port: u16,
        /// Remote address, IPv4 in the first four bytes.
        remote_address: [u8; 16],
        /// Local address.
        local_address: [u8; 16],
        /// IPv6 scope id of the remote address.
        remote_scope: u32,
    }
}

group! {
    /// A field of a head or of trailers.
    Field {
        /// Length of the name.
        name_length: u16,
        /// Number of the name in the table of header names (`portico_http::semantics::field_name`); 0: not in it.
        name_number: u16,
        /// Where the name begins.
        name_offset: u32,
        /// The value.
        value: Range,
    }
    range(name_offset, name_length)
}

impl Field {
    /// The bytes of its name.
    #[inline]
    #[must_use]
    pub fn name(&self) -> Range {
        Range {
            offset: self.name_offset,
            length: u32::from(self.name_length),
        }
    }
}

group! {
    /// A certificate of the peer.
    Certificate {
        /// Its DER.
        der: Range,
    }
}

records! {
    /// All of them, by number.
    EVENTS;

    /// A connection, sent once, before anything else about it. At accept if the listener asks for it (`notify_open`),
    /// else just before the connection's first other event.
    OPEN = 1: Open {
        /// Connection token.
        token: u32,
        /// Its listener.
        listener: u32,
        /// Where both ends are.
        endpoints: Endpoints,
    } flags(open_flag);

    /// The TLS handshake of a connection is complete. Follows `OPEN`: at once where that has been sent, else together
    /// with it.
    SECURE = 2: Secure {
        /// Connection token.
        token: u32,
        /// Protocol version: 0x0303, 0x0304.
        version: u16,
        /// Number of the cipher suite.
        cipher_suite: u16,
        /// Verification result: 0 = no certificate asked for or verified; else the `portico_tls::VerifyError` number.
        verify_error: u32,
        /// The SNI name.
        server_name: Range,
        /// The ALPN protocol.
        alpn: Range,
        /// Number of peer certificates.
        certificate_count: u32,
        /// Number of the named group of the key exchange.
        named_group: u32,
        /// What is kept for later questions: the server's Finished message, the client's, the exporter's secret, in TLS
        /// 1.2 the random bytes of client and server (32 each), and the client's signature schemes (two bytes each, high
        /// byte first). The reader wipes the secret.
        keying: Range,
        /// Length of a Finished message.
        finished_bytes: u32,
        /// Length of the exporter's secret.
        secret_bytes: u32,
    } flags(secure_flag) table(certificates: Certificate * certificate_count);

    /// A request head. Payload: the bytes of the head as received.
    REQUEST = 3: Request {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Method number (`portico_http::Method`).
        method: u8,
        /// HTTP version: what stands before the dot.
        major_version: u8,
        /// And behind it; 0 where the version has no dot.
        minor_version: u8,
        /// What the connection makes of the request's URI: see `scheme`.
        scheme: u8,
        /// Number of header fields.
        field_count: u32,
        /// The request target; in HTTP/1 as it stands in the request line.
        target: Range,
        /// The authority that the request is for (RFC 9112, 3.3): that of the target if it has one, else the first `Host`.
        /// For applications whose protocol has no `Host` (HTTP/2), and for those in Rust; `node:http` shows the fields.
        authority: Range,
        /// The bytes that follow the head (only with `UPGRADE`, else none).
        rest: Range,
        /// Content-Length; all ones if there is none.
        content_length: u64,
    } flags(request_flag) table(fields: Field * field_count);

    /// Bytes of a request's body.
    BODY = 4: Body {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// The bytes.
        bytes: Range,
    } flags(body_flag);

    /// The end of a request's body where it was not told by the head (`COMPLETE`) or the last `BODY` (`LAST`): of a
    /// chunked body, and of one that was dropped (`DISCARD`).
    END = 5: End {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Number of trailer fields.
        field_count: u32,
    } table(fields: Field * field_count);

    /// A connection has gone; its token is dead. Its socket may live on for a while, unseen, so that the last answer is
    /// not reset. A `FLUSHED` that is due comes before.
    CLOSED = 6: Closed {
        /// Connection token.
        token: u32,
        /// errno; 0 = orderly.
        errno: u32,
        /// Bytes read.
        bytes_read: u64,
        /// Bytes written.
        bytes_written: u64,
    };

    /// Output that the application asked about (`ACK`) has been handed to the kernel.
    FLUSHED = 7: Flushed {
        /// Connection token.
        token: u32,
        /// Number of acknowledged records since the last `FLUSHED`.
        count: u32,
        /// Bytes still queued.
        queued_bytes: u32,
        /// With the flag `NAMED`: which request's they are; else 0.
        sequence: u32,
    } flags(flushed_flag);

    /// The peer broke the protocol. Parsing has stopped; the connection stays open for the application's answer
    /// (`RAW`, then `SHUTDOWN` or `DESTROY`). What the peer still sends is not parsed: until the application has said what
    /// becomes of the connection, each packet is told with the same error, 0 bytes parsed. Its end is told (`PEER_END`).
    CLIENT_ERROR = 8: ClientError {
        /// Connection token.
        token: u32,
        /// Error number (`portico_http::ParseErrorCode`).
        code: u32,
        /// Bytes of the packet parsed before the error.
        parsed_bytes: u32,
        /// The packet.
        packet: Range,
    };

    /// A deadline passed. The engine takes no action of its own.
    TIMEOUT = 9: Timeout {
        /// Connection token.
        token: u32,
        /// Which: see `timeout_kind`.
        deadline: u32,
    };

    /// Bytes on a connection that was taken over.
    RAW = 10: Raw {
        /// Connection token.
        token: u32,
        /// 0: a byte stream has no requests.
        sequence: u32,
        /// The bytes.
        bytes: Range,
    };

    /// The peer has ended its side (FIN, or close_notify). In HTTP mode sent only while a request is in flight or after
    /// `CLIENT_ERROR`; else the engine closes the connection.
    PEER_END = 11: PeerEnd {
        /// Connection token.
        token: u32,
    } flags(peer_end_flag);

    /// A ClientHello awaits its certificate. Answer with `SERVER_NAME`. A ClientHello without a name is not asked about,
    /// as in Node.
    SERVER_NAME = 12: ServerName {
        /// Connection token.
        token: u32,
        /// Its listener.
        listener: u32,
        /// The SNI name.
        name: Range,
    };

    /// A ClientHello awaits its ALPN protocol. Answer with `ALPN`.
    ALPN = 13: Alpn {
        /// Connection token.
        token: u32,
        /// Its listener.
        listener: u32,
        /// The SNI name.
        name: Range,
        /// The offered protocols, each with a length byte before it.
        protocols: Range,
    };

    /// A line for the key log.
    KEY_LOG = 14: KeyLog {
        /// Connection token.
        token: u32,
        /// Its listener.
        listener: u32,
        /// The line.
        line: Range,
    };

    /// A TLS handshake failed. The engine ends the connection: `CLOSED` follows if it was opened.
    TLS_ERROR = 15: TlsError {
        /// Connection token; 0 if the connection was never opened.
        token: u32,
        /// Its listener.
        listener: u32,
        /// `CODE message`.
        text: Range,
    };

    /// A connection was refused for `max_connections`.
    DROPPED = 16: Dropped {
        /// 0: it has no token.
        token: u32,
        /// Its listener.
        listener: u32,
        /// Where both ends are.
        endpoints: Endpoints,
    };

    /// Accepting failed. It goes on after a pause.
    ACCEPT_ERROR = 17: AcceptError {
        /// 0: there is no connection.
        token: u32,
        /// The listener.
        listener: u32,
        /// errno.
        errno: u32,
    };

    /// The last connection of a closed listener (on this thread) has gone without a `CLOSED`, since it was never opened.
    DRAINED = 18: Drained {
        /// 0: there is no connection.
        token: u32,
        /// The listener.
        listener: u32,
    };

    /// A host takes more of an answer. For the application's end of the channel, which keeps it to itself; see
    /// `shared::ANSWER_WINDOW_BYTES`.
    CREDIT = 19: Credit {
        /// Connection token.
        token: u32,
        /// Sequence number; 0: the bytes of a connection that was taken over.
        sequence: u32,
        /// Bytes of records about it that the host takes in all.
        granted_bytes: u64,
    };

    /// The peer has given up one exchange, and its connection goes on: no more of the request comes, and no answer is
    /// wanted. The exchange is over, what is still said about it finds nothing. In HTTP/1 a peer has no way to say so:
    /// where it resets, the connection is over, with every exchange (`CLOSED` with an errno).
    RESET = 20: Reset {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Why: see `reset_code`; or any other number that the peer has sent.
        code: u32,
    };

    /// What a peer of HTTP/2 says of its session, not of a stream, and what became of ours. Only of listeners that ask for
    /// it (`notify_session`).
    SESSION = 21: Session {
        /// Connection token.
        token: u32,
        /// What is told: see `session_event`.
        subject: u32,
        /// The stream that it is about.
        stream: u32,
        /// A code, or a number of a stream.
        code: u32,
        /// Settings, a ping's data, or a reason.
        bytes: Range,
    };
}
