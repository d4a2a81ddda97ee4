//! Where a connection is in the stream of its peer's bytes.
//!
//! ```text
//!            head complete            body complete
//!   Head ───────────────▶ Sized/Chunked ─────────▶ Head
//!    │ ▲                                            (Ignored if the request was the last)
//!    │ └── PROCEED ── Upgrade ── TAKE_OVER ──▶ Raw
//!    └ error ─▶ Stopped
//! ```

use portico_http::ParseErrorCode;
use portico_http::h1::{ChunkedDecoder, Framing, Progress};

use crate::limits::LINGER_BYTES;

/// What the next bytes are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// A request head.
    Head,
    /// A body of known length.
    Sized {
        /// Bytes still to come.
        left: u64,
    },
    /// A chunked body.
    Chunked(ChunkedDecoder),
    /// An upgrade has been handed over; nothing is read until the application decides.
    Upgrade {
        /// The request's body, should it turn out to be an ordinary one.
        framing: Framing,
        /// Bytes of `rest` that went with the request.
        attached: usize,
    },
    /// A byte stream of the application.
    Raw,
    /// Bytes nobody wants any more; read and dropped.
    Ignored {
        /// Bytes that may still be dropped before reading stops.
        left: u64,
    },
    /// The peer broke the protocol: nothing is read.
    Stopped,
}

/// What the application wants of the body in work. It goes with the body: no wish outlives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyWish {
    /// Its bytes, as they come.
    #[default]
    Bytes,
    /// No bytes for now (`PAUSE`): the reader is behind.
    Nothing,
    /// Its end alone (`DISCARD`).
    End,
}

/// State of the receiving side.
#[derive(Debug)]
pub(crate) struct Input {
    pub(super) phase: Phase,
    /// How far the head in `rest` has been checked.
    pub(super) progress: Progress,
    /// Bytes received and not used: an incomplete head, or what came while parsing had to wait.
    pub(super) rest: Vec<u8>,
    /// Whether `rest` can be parsed as it is, without further bytes.
    pub(super) held: bool,
    /// Whether the kernel may have more.
    pub(super) readable: bool,
    /// Whether the kernel has told of the peer's end: read until it shows.
    pub(super) hang_up: bool,
    /// Whether the end (FIN) has been read.
    pub(super) ended: bool,
    /// Whether the application has been told, or the end has been dealt with.
    pub(super) end_handled: bool,
    /// `PAUSE` of the connection itself: a byte stream, or a socket that the program has paused.
    pub(super) paused: bool,
    /// `PAUSE`, `RESUME` and `DISCARD` of the body in work.
    pub(super) body: BodyWish,
    /// How often it, or a body, has been paused.
    pub(super) pauses: u32,
    /// The peer may wait for `100 Continue` before it sends the body.
    pub(super) awaits_continue: bool,
    /// How the peer broke the protocol; the application decides what becomes of the connection.
    pub(super) refused: Option<ParseErrorCode>,
    /// The last request was handed over although too much output waits: the next must wait until it has been sent.
    pub(super) over: bool,
    /// Whether the request in work may be followed by another.
    pub(super) keep_alive: bool,
    /// Sequence number of the last request.
    pub(super) sequence: u32,
    /// Requests handed over in the turn.
    pub(super) told_in_turn: u8,
    /// Whether bytes of the peer were dropped unread when the last answer was given.
    pub(super) unread_at_close: bool,
    /// When the message in work began; at first when the connection began. 0: none is in work.
    pub(super) message_started_ms: u64,
}

impl Input {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            phase: Phase::Head,
            progress: Progress::default(),
            rest: Vec::new(),
            held: false,
            readable: false,
            hang_up: false,
            ended: false,
            end_handled: false,
            paused: false,
            body: BodyWish::default(),
            pauses: 0,
            awaits_continue: false,
            refused: None,
            over: false,
            keep_alive: true,
            sequence: 0,
            told_in_turn: 0,
            unread_at_close: false,
            message_started_ms: now_ms,
        }
    }

    /// Whether a request's body is not read to its end.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.phase, Phase::Sized { .. } | Phase::Chunked(_))
    }

    /// Whether a request's body is not read to its end, or has not begun since the request may be an upgrade.
    pub(super) fn has_body_to_come(&self) -> bool {
        self.is_in_body() || matches!(self.phase, Phase::Upgrade { .. })
    }

    /// Whether the last request was the peer's last by its own word, and nothing but it has come.
    pub(super) fn announced_end(&self) -> bool {
        !self.keep_alive && self.refused.is_none() && !self.readable
    }

    /// Sets the phase that a body of this framing begins with. `false`: there is no body.
    pub(super) fn begin_body(&mut self, framing: Framing) -> bool {
        self.phase = match framing {
            Framing::None | Framing::ContentLength(0) => return false,
            Framing::ContentLength(left) => Phase::Sized { left },
            Framing::Chunked => Phase::Chunked(ChunkedDecoder::new()),
        };
        true
    }

    /// A request has been read to its end.
    pub(super) fn message_complete(&mut self) {
        self.message_started_ms = 0;
        self.body = BodyWish::default();
        if self.keep_alive {
            self.phase = Phase::Head;
        } else {
            self.ignore_the_rest();
        }
    }

    /// What the peer still sends is read and dropped, within bounds.
    pub(super) fn ignore_the_rest(&mut self) {
        self.phase = Phase::Ignored { left: LINGER_BYTES };
        self.message_started_ms = 0;
    }

    /// Takes the first `used` bytes of `rest` away.
    pub(super) fn drop_used(&mut self, used: usize) {
        if used >= self.rest.len() {
            // An idle connection keeps no buffer.
            self.rest = Vec::new();
            self.held = false;
        } else {
            self.rest.drain(..used);
        }
    }
}
