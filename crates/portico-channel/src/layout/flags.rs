//! Flags of records, and the values of words that are one of a few.

use crate::schema::{NumbersSchema, numbers};

numbers! {
    /// Flags of the event `OPEN`.
    open_flag {
        /// The connection is TLS.
        TLS = 1,
        /// The listener is a Unix socket.
        UNIX = 2,
    }
}

numbers! {
    /// Flags of the event `SECURE`.
    secure_flag {
        /// The session was resumed.
        RESUMED = 1,
        /// A client certificate was asked for.
        CERTIFICATE_REQUESTED = 2,
    }
}

numbers! {
    /// Flags of the event `REQUEST`.
    request_flag {
        /// The connection may be kept after this request (RFC 9112, 9.3).
        KEEP_ALIVE = 1,
        /// There is no body, or it is empty: nothing more will come for this request.
        COMPLETE = 2,
        /// The body is chunked.
        CHUNKED = 4,
        /// `Expect: 100-continue`.
        EXPECT_CONTINUE = 8,
        /// Another `Expect`.
        EXPECT_OTHER = 16,
        /// `Connection: upgrade` with `Upgrade`, or CONNECT. Parsing waits for `TAKE_OVER` or `PROCEED`.
        UPGRADE = 32,
        /// `maxRequestsPerSocket` is exceeded by this request: answer 503 and close (as in Node).
        OVER_LIMIT = 64,
        /// This is the last request that `maxRequestsPerSocket` allows.
        LAST_ALLOWED = 128,
        /// There is at least one `Host` field.
        HAS_HOST = 256,
    }
}

numbers! {
    /// Values of `scheme` in the event `REQUEST`.
    scheme {
        /// http: the connection is in the clear.
        HTTP = 0,
        /// https: the connection is TLS.
        HTTPS = 1,
    }
}

numbers! {
    /// Flags of the event `BODY`.
    body_flag {
        /// Last bytes; there are no trailers and no `END` will follow.
        LAST = 1,
    }
}

numbers! {
    /// Flags of the event `FLUSHED`.
    flushed_flag {
        /// The records are those of the request that `sequence` names; 0: of the tunnel. Without it they are the oldest, in
        /// the order of requests. A host names them: a process need not have got the requests of a connection in their
        /// order.
        NAMED = 1,
    }
}

numbers! {
    /// Flags of the event `PEER_END`.
    peer_end_flag {
        /// Behind requests that are not read for now, because as many as may be wait for their answers or an upgrade waits
        /// for earlier ones. Nothing has moved for a time; it is told again while that lasts, and without the flag when
        /// everything before has been read.
        UNREAD = 1,
    }
}

numbers! {
    /// Values of `deadline` in the event `TIMEOUT`.
    timeout_kind {
        /// No activity for the time set by the listener's `timeout` or by `SET_TIMEOUT`.
        INACTIVE = 0,
        /// No complete head within `headers_timeout`, or no complete request within `request_timeout`.
        REQUEST = 1,
        /// No new request within `keep_alive_timeout`.
        KEEP_ALIVE = 2,
        /// No complete TLS handshake within `handshake_timeout`.
        HANDSHAKE = 3,
    }
}

numbers! {
    /// Flags of the commands `RESPOND`, `DATA`, `END`, `INFORM`, `RAW`, `FEED` and `PART`, as far as they say so.
    response_flag {
        /// The response is complete with this record.
        END = 1,
        /// Tell (`FLUSHED`) when everything up to this record has been handed to the kernel.
        ACK = 2,
        /// Add `Date`.
        DATE = 4,
        /// Add `Connection: close`.
        CONNECTION_CLOSE = 8,
        /// Add `Connection: keep-alive`.
        CONNECTION_KEEP_ALIVE = 16,
        /// Add `Keep-Alive: timeout=N` (and `, max=M` where the listener has `max_requests_per_socket`).
        KEEP_ALIVE = 32,
        /// Add `Content-Length` from `content_length`.
        CONTENT_LENGTH = 64,
        /// Add `Transfer-Encoding: chunked`.
        TRANSFER_ENCODING = 128,
        /// Frame the body as chunks (the field itself may come from the application).
        CHUNKED = 256,
        /// The connection ends after this response.
        CLOSE = 512,
        /// The body bytes are not in the record but in the buffer handed over with the submission
        /// (the record is the submission's last).
        EXTERNAL = 1024,
    }
}

numbers! {
    /// Flags of the command `SHUTDOWN`.
    shutdown_flag {
        /// Then close.
        CLOSE = 1,
    }
}

numbers! {
    /// Flags of the command `DESTROY`.
    destroy_flag {
        /// With a reset.
        RESET = 1,
        /// The application has not been told of the end of a request. With a reset if that has been read: where the
        /// application reads by itself, a close resets what it has not read.
        UNREAD = 2,
        /// The application takes what the client has sent for no HTTP: a host answers 400 if it is the turn of a request
        /// of that application, or of none. Without a host of no meaning.
        BAD_REQUEST = 4,
        /// Behind the application's refusal of what the peer has sent: what it still sends is read and dropped, within
        /// bounds, so that no reset overtakes the refusal.
        LINGER = 8,
    }
}

numbers! {
    /// Values of `code` in the command and in the event `RESET`: the error codes of HTTP/2 (RFC 9113, 7).
    reset_code {
        /// Nothing went wrong.
        NO_ERROR = 0,
        /// The peer broke the protocol.
        PROTOCOL_ERROR = 1,
        /// The application, or Portico, failed.
        INTERNAL_ERROR = 2,
        /// The request was refused before anything was done about it: it may be sent again.
        REFUSED_STREAM = 7,
        /// The answer is not wanted any more.
        CANCEL = 8,
        /// The peer makes too much work.
        ENHANCE_YOUR_CALM = 11,
    }
}

numbers! {
    /// Flags of the command `TAKE_OVER`.
    take_over_flag {
        /// The byte stream begins behind the request's body. Without it, behind the request's head.
        BEHIND_BODY = 1,
    }
}

numbers! {
    /// Flags of the command `ALPN`.
    alpn_flag {
        /// Go on without ALPN.
        NONE = 1,
    }
}

numbers! {
    /// Flags of the command `CLOSE_IDLE`.
    close_idle_flag {
        /// Also those whose last answer is still to be sent, after that.
        UNSENT = 1,
        /// Also those that have not begun a request yet.
        SILENT = 2,
    }
}

numbers! {
    /// Flags of the command `CACHE`.
    cache_flag {
        /// `lifetime_ms` counts.
        LIFETIME = 1,
        /// No application answers: what follows is the host's own answer. Of a host alone.
        ABSENT = 2,
    }
}

numbers! {
    /// Values of `subject` in the event `SESSION`.
    session_event {
        /// The peer has sent settings: all that are known, and behind them others that it has sent now, 6 bytes each as in
        /// the frame (RFC 9113, 6.5.1).
        PEER_SETTINGS = 1,
        /// The peer has acknowledged settings of ours: all that hold now.
        LOCAL_SETTINGS = 2,
        /// The peer has sent a ping, of 8 bytes, which has been answered.
        PING = 3,
        /// It has answered one of ours, of these 8 bytes.
        PING_ANSWERED = 4,
        /// It opens no more streams: the last of ours that it handles, a code, and its debug data.
        GOAWAY = 5,
        /// It has broken the protocol, or was late: the code and the reason that it has been told. `CLOSED` follows.
        FAILED = 6,
        /// What became of a `PUSH` for this stream: the promised one is `code`; 0: the client takes none.
        PUSHED = 7,
    }
}

numbers! {
    /// Values of `subject` in the command `SESSION`.
    session_command {
        /// Change settings: 6 bytes each, as in the frame. Those that are not known are left out.
        SETTINGS = 1,
        /// Send a ping of 8 bytes.
        PING = 2,
        /// Send GOAWAY with this last stream, or the last that has come if that is higher, this code, and debug data.
        GOAWAY = 3,
        /// Send ALTSVC for a stream, or for an origin: the first `code` bytes (RFC 7838, 4).
        ALTSVC = 4,
        /// Send ORIGIN: each with two bytes of length, the high one first (RFC 8336).
        ORIGIN = 5,
        /// Make the connection's window `code` bytes.
        WINDOW = 6,
        /// End the connection behind its streams, in two steps.
        SHUT_DOWN = 7,
    }
}

/// All of them.
pub const NUMBERS: &[NumbersSchema] = &[
    open_flag::SCHEMA,
    secure_flag::SCHEMA,
    request_flag::SCHEMA,
    scheme::SCHEMA,
    body_flag::SCHEMA,
    flushed_flag::SCHEMA,
    peer_end_flag::SCHEMA,
    timeout_kind::SCHEMA,
    response_flag::SCHEMA,
    shutdown_flag::SCHEMA,
    destroy_flag::SCHEMA,
    reset_code::SCHEMA,
    take_over_flag::SCHEMA,
    alpn_flag::SCHEMA,
    close_idle_flag::SCHEMA,
    cache_flag::SCHEMA,
    session_event::SCHEMA,
    session_command::SCHEMA,
];
