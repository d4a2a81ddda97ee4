//! Where a connection is in the stream of its peer's bytes.
//!
//! ```text
//!            head complete            body complete
//!   Head ───────────────▶ Sized/Chunked ─────────▶ Head
//!    │ ▲                                            (Ignored if the request was the last)
//!    │ └── PROCEED ── Upgrade ── TAKE_OVER ──▶ Raw
//!    │                   └ (BEHIND_BODY) ─▶ Sized/Chunked ─▶ Raw
//!    ├─ offer ─ Waiting ── settle ──▶ Head
//!    └ error ─▶ Stopped
//! ```

use portico_http::ParseErrorCode;
use portico_http::h1::{ChunkedDecoder, Framing, HeadProgress};

use crate::limits::LINGER_BYTES;

/// What is remembered of a read is good to so many bytes, so that it takes one byte of a connection.
const READ_UNIT: usize = 512;

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
    /// The head of a request that waits for its responder: it is parsed again when that has been settled.
    Waiting,
    /// A byte stream of the application.
    Raw,
    /// Bytes that the application no longer wants; read and dropped.
    Ignored {
        /// Bytes that may still be dropped before reading stops.
        left: u64,
    },
    /// The peer broke the protocol: nothing is read.
    Stopped,
}

/// How far the application is with a connection that it has taken over behind the body of its last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakenOver {
    /// It waits to be told what has been received so far.
    Untold,
    /// It has been.
    Told,
}

/// State of the receiving side.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) phase: Phase,
    /// How far the head in `rest` has been checked.
    pub(super) progress: HeadProgress,
    /// Bytes received and not used: an incomplete head, or what came while parsing had to wait.
    pub(super) rest: Vec<u8>,
    /// Whether `rest` can be parsed as it is, without further bytes.
    pub(super) held: bool,
    /// Whether the peer's end has been dealt with.
    pub(super) end_handled: bool,
    /// How often a body has been paused.
    pub(super) pauses: u32,
    /// How the peer broke the protocol; the application decides what becomes of the connection.
    pub(super) refused: Option<ParseErrorCode>,
    /// The last request was handed over although too much output waits: the next must wait until it has been sent.
    pub(super) over: bool,
    /// The connection becomes a byte stream behind the body in work, or has.
    pub(super) taken_over: Option<TakenOver>,
    /// Whether the request in work may be followed by another.
    pub(super) keep_alive: bool,
    /// Requests handed over in the turn.
    pub(super) begun_in_turn: u8,
    /// Bytes that the next read in place may bring, in units of [`READ_UNIT`].
    expected_read: u8,
    /// Whether bytes of the peer were dropped unread when the last answer was given.
    pub(super) unread_at_close: bool,
    /// When the message in work began; at first when the connection began. 0: none is in work.
    pub(super) message_started_ms: u64,
}

impl Input {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            phase: Phase::Head,
            progress: HeadProgress::default(),
            rest: Vec::new(),
            held: false,
            end_handled: false,
            pauses: 0,
            refused: None,
            over: false,
            taken_over: None,
            keep_alive: true,
            begun_in_turn: 0,
            expected_read: 0,
            unread_at_close: false,
            message_started_ms: now_ms,
        }
    }

    /// A read in place with so much room has brought so much.
    #[inline]
    pub(super) fn note_read(&mut self, count: usize, room: usize) {
        let expected = if count == room { count * 2 } else { count };
        let expected = u8::try_from(expected.div_ceil(READ_UNIT)).unwrap_or(u8::MAX);
        // The rest of a message that was torn says nothing of the next.
        let before = self.expected_read - self.expected_read.div_ceil(8);
        self.expected_read = expected.max(before);
    }

    /// Bytes that the next one may bring: what the last ones did, and more where there was no room for all.
    #[inline]
    pub(super) fn expected_read(&self) -> usize {
        usize::from(self.expected_read) * READ_UNIT
    }

    /// Whether a request's body is not read to its end.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.phase, Phase::Sized { .. } | Phase::Chunked(_))
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

    /// What the peer still sends is read and dropped, within bounds.
    pub(super) fn ignore_the_rest(&mut self) {
        self.enter(Phase::Ignored { left: LINGER_BYTES });
        self.taken_over = None;
    }

    /// So many bytes have been dropped of the `left` that may be. Returns them.
    pub(super) fn ignore(&mut self, count: usize, left: u64) -> usize {
        let left = left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
        self.phase = if left == 0 {
            Phase::Stopped
        } else {
            Phase::Ignored { left }
        };
        count
    }

    /// Enters a phase in which no message is in work, or none that has come in time.
    #[inline]
    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.message_started_ms = 0;
    }

    /// A message may take its time from `now_ms` on.
    #[inline]
    pub(super) fn start_message(&mut self, now_ms: u64) {
        self.message_started_ms = now_ms;
    }

    /// Whether the head or the whole of the message in work has taken too long. Said once for a message.
    pub(super) fn is_late(&mut self, now_ms: u64, headers_ms: u64, request_ms: u64) -> bool {
        let started = self.message_started_ms;
        if started == 0 {
            return false;
        }
        let in_head = matches!(self.phase, Phase::Head);
        let late = |limit: u64| limit != 0 && started + limit <= now_ms;
        let is_late = (in_head && late(headers_ms)) || late(request_ms);
        if is_late {
            self.message_started_ms = 0;
        }
        is_late
    }

    /// Keeps bytes that can be parsed as they are.
    pub(super) fn hold(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.rest.extend_from_slice(bytes);
            self.held = true;
        }
    }

    /// Drops what was kept.
    pub(super) fn drop_rest(&mut self) {
        self.rest = Vec::new();
        self.held = false;
    }

    /// Takes the first `used` bytes of `rest` away.
    pub(super) fn drop_used(&mut self, used: usize) {
        if used >= self.rest.len() {
            // An idle connection keeps no buffer.
            self.drop_rest();
        } else {
            self.rest.drain(..used);
        }
    }
}
