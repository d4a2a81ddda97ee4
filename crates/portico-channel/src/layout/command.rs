//! Records from the application to the engine.

use crate::schema::records;

records! {
    /// All of them, by number.
    COMMANDS;

    /// A response head, and the first or only bytes of the body. Payload: reason, field lines, body.
    ///
    /// The engine writes, in this order: the status line, the field lines, `Date`, `Connection`, `Keep-Alive`,
    /// `Content-Length` or `Transfer-Encoding` as the flags say.
    RESPOND = 1: Respond {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Status code, 100 to 999.
        status: u32,
        /// Number of a kept head (`TEMPLATE`); 0: none.
        template: u32,
        /// Length of the reason phrase; 0 with a template.
        reason_bytes: u32,
        /// Length of the field lines (`name: value\r\n` each); 0 with a template.
        fields_bytes: u32,
        /// Length of the body bytes in or beside this record.
        body_bytes: u32,
        /// Content-Length.
        content_length: u64,
    } flags(response_flag) parts(reason: reason_bytes, fields: fields_bytes) body(body: body_bytes);

    /// More body. Flags `END`, `ACK`, `EXTERNAL`.
    DATA = 2: Data {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Length of the bytes in or beside this record.
        body_bytes: u32,
    } flags(response_flag) body(body: body_bytes);

    /// The end of the body. Payload: trailer lines. Flag `ACK`.
    END = 3: End {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Length of the trailer lines.
        trailers_bytes: u32,
    } flags(response_flag) parts(trailers: trailers_bytes);

    /// An interim response. Payload: reason, field lines; the engine writes the head. Flag `ACK`.
    INFORM = 4: Inform {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Status code, 100 to 199.
        status: u32,
        /// Length of the reason phrase.
        reason_bytes: u32,
        /// Length of the field lines (`name: value\r\n` each).
        fields_bytes: u32,
    } flags(response_flag) parts(reason: reason_bytes, fields: fields_bytes);

    /// Hand over no more of a request's body: its reader is behind. It ends with that body, however the body ends, and
    /// is nothing if that has ended already. With sequence number 0: read nothing more from the connection, which is a
    /// byte stream or a socket that the program has paused.
    PAUSE = 5: Pause {
        /// Connection token.
        token: u32,
        /// Sequence number, or 0.
        sequence: u32,
    };

    /// Hand over again what the `PAUSE` with the same sequence number has stopped.
    RESUME = 6: Resume {
        /// Connection token.
        token: u32,
        /// Sequence number, or 0.
        sequence: u32,
    };

    /// Drop the rest of this request's body: no more `BODY` comes, whatever is paused, only the `END`.
    DISCARD = 7: Discard {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
    };

    /// Bytes as they are (after `TAKE_OVER`, or as the answer to `CLIENT_ERROR`). Flags `ACK`, `EXTERNAL`.
    RAW = 8: Raw {
        /// Connection token.
        token: u32,
        /// 0: a byte stream has no requests.
        sequence: u32,
        /// Length of the bytes in or beside this record.
        body_bytes: u32,
    } flags(response_flag) body(body: body_bytes);

    /// Send what is queued, then end our side (FIN); answers that are given later are dropped, what the peer sends is
    /// told as before.
    SHUTDOWN = 9: Shutdown {
        /// Connection token.
        token: u32,
    } flags(shutdown_flag);

    /// Close now; what is queued and the kernel does not take at once is lost. `CLOSED` follows.
    DESTROY = 10: Destroy {
        /// Connection token.
        token: u32,
    } flags(destroy_flag);

    /// Inactivity timeout of a connection.
    SET_TIMEOUT = 11: SetTimeout {
        /// Connection token.
        token: u32,
        /// Milliseconds; 0 = none.
        milliseconds: u32,
    };

    /// TCP options of a connection.
    SET_SOCKET = 12: SetSocket {
        /// Connection token.
        token: u32,
        /// No-delay: 0 off, 1 on, 2 leave.
        no_delay: u32,
        /// Keep-alive, likewise.
        keep_alive: u32,
        /// Keep-alive delay in seconds.
        keep_alive_seconds: u32,
    };

    /// The application takes the connection as a byte stream (upgrade, CONNECT). With `BEHIND_BODY` it gets the request's
    /// body first, as it gets others; a `RAW`, which may be empty, tells it when what has been received so far is told.
    TAKE_OVER = 13: TakeOver {
        /// Connection token.
        token: u32,
    } flags(take_over_flag);

    /// The upgrade is not wanted: the request is an ordinary one.
    PROCEED = 14: Proceed {
        /// Connection token.
        token: u32,
    };

    /// Answer to the event `SERVER_NAME`.
    SERVER_NAME = 15: ServerName {
        /// Connection token.
        token: u32,
        /// TLS context number; 0: what the listener has for the name; all ones: refuse.
        context: u32,
    };

    /// Answer to the event `ALPN`. Payload: the protocol; none: refuse (no_application_protocol).
    ALPN = 16: Alpn {
        /// Connection token.
        token: u32,
        /// Length of the protocol.
        protocol_bytes: u32,
    } flags(alpn_flag) parts(protocol: protocol_bytes);

    /// Close the idle connections of a listener.
    CLOSE_IDLE = 17: CloseIdle {
        /// The listener.
        listener: u32,
    } flags(close_idle_flag);

    /// Close all connections of a listener.
    CLOSE_ALL = 18: CloseAll {
        /// The listener.
        listener: u32,
    };

    /// Keep a head for later `RESPOND`s. Payload: reason and field lines.
    TEMPLATE = 19: Template {
        /// Template number, 1 to 255.
        number: u32,
        /// Length of the reason phrase.
        reason_bytes: u32,
        /// Length of the field lines.
        fields_bytes: u32,
    } parts(reason: reason_bytes, fields: fields_bytes);

    /// Bytes that are to be parsed as if the peer had sent them, behind what has been received. Flag `EXTERNAL`.
    FEED = 20: Feed {
        /// Connection token.
        token: u32,
        /// 0: they belong to no request yet.
        sequence: u32,
        /// Length of the bytes in or beside this record.
        body_bytes: u32,
    } flags(response_flag) body(body: body_bytes);

    /// Bytes of a record that is too large for the memory between two processes. Flag `END` with the last ones; the parts
    /// of a record follow each other. Written by the application's end of the channel, put together by the host: no
    /// engine sees it.
    PART = 21: Part {
        /// Length of the bytes.
        piece_bytes: u32,
    } flags(response_flag) parts(piece: piece_bytes);

    /// One exchange is given up: no more of its answer is sent, nothing more is told of its request, and the exchange is
    /// over. Where the protocol has a way to say so, the peer is told and the connection goes on. HTTP/1 has none: it ends
    /// the connection when that answer's turn comes, behind those before it; what is held back of it is not sent.
    RESET = 22: Reset {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Why: see `reset_code`. HTTP/1 does not tell it.
        code: u32,
    };

    /// What the application wants kept of the answer to a request; before its `RESPOND`. Payload: names by which it can be
    /// purged, each ended by LF; then, of a request that came before the engine kept answers, its target and its field
    /// lines.
    CACHE = 23: Cache {
        /// Connection token.
        token: u32,
        /// Sequence number.
        sequence: u32,
        /// Length of the tags.
        tags_bytes: u32,
        /// Length of the target; 0: the engine knows the request.
        target_bytes: u32,
        /// Length of the field lines (`name: value\r\n` each).
        fields_bytes: u32,
        /// For how long it is kept, in milliseconds, where the flag says so; 0: not at all.
        lifetime_ms: u64,
    } flags(cache_flag) parts(tags: tags_bytes, target: target_bytes, fields: fields_bytes);

    /// What the application says to a peer of HTTP/2 about their session. It does nothing to connections that have none, and
    /// behind a host: there a connection is not one application's.
    SESSION = 24: Session {
        /// Connection token.
        token: u32,
        /// What is said: see `session_command`.
        subject: u32,
        /// The stream that it is about.
        stream: u32,
        /// A code, a size or a length.
        code: u32,
        /// Length of what is said.
        data_bytes: u32,
    } parts(data: data_bytes);

    /// Promises an answer to a request that the client has not made (RFC 9113, section 8.4). The event `SESSION` with
    /// `PUSHED` says which stream it has; that is answered like others. Behind a host nothing is promised or told.
    PUSH = 25: Push {
        /// Connection token.
        token: u32,
        /// Sequence number of the request that it belongs to.
        sequence: u32,
        /// Length of the method.
        method_bytes: u32,
        /// Length of the scheme.
        scheme_bytes: u32,
        /// Length of the authority.
        authority_bytes: u32,
        /// Length of the path.
        path_bytes: u32,
        /// Length of the field lines (`name: value\r\n` each).
        fields_bytes: u32,
    } parts(
        method: method_bytes,
        scheme: scheme_bytes,
        authority: authority_bytes,
        path: path_bytes,
        fields: fields_bytes
    );
}
