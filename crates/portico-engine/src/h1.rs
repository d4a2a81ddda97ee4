//! HTTP/1 on a connection: bytes to exchanges, and answers to bytes (RFC 9112).
//!
//! Requests are handed over as they are parsed; the application may answer them in any order. Only the first one's
//! answer goes out; those of later ones are held back (section 9.3.2).
//!
//! * [`exchanges`]: the requests in flight, and whose turn it is
//! * [`input`]: where in the stream of requests the peer is
//! * [`parsing`]: received bytes into events, which [`events`] writes
//! * [`responding`]: the application's records about answers, into output, their [`heads`] into bytes; [`receiving`] what it says of the input

mod bodies;
mod events;
mod exchanges;
mod heads;
mod input;
mod inspection;
mod parsing;
mod receiving;
mod responding;
mod step;
mod waiting;

use portico_channel::EventWriter;
use portico_http::ParseErrorCode;

use crate::core::Core;
use crate::exchange::BodyWish;
use crate::offer::Waiting;
use crate::stop::Stop;
use crate::transport::Transport;
use exchanges::Exchanges;
use input::{Input, Phase};

/// HTTP/1 on one connection.
#[derive(Debug)]
pub(crate) struct H1 {
    input: Input,
    exchanges: Exchanges,
    /// The request that waits for its responder.
    waiting: Option<Box<Waiting>>,
}

impl H1 {
    /// A connection whose first request may take its time from `now_ms` on; 0: it can't come yet ([`H1::start`]).
    pub(crate) fn new(now_ms: u64) -> Self {
        Self {
            input: Input::new(now_ms),
            exchanges: Exchanges::default(),
            waiting: None,
        }
    }

    /// The first request may come from now on.
    pub(crate) fn start(&mut self, now_ms: u64) {
        self.input.start_message(now_ms);
    }

    /// Nothing can be read or written any more.
    pub(crate) fn abandon(&mut self) {
        self.exchanges.clear();
        self.input.drop_rest();
        self.ignore_the_rest();
    }

    /// Whether it waits for a request: none is in flight or has begun. The last answer may still be on its way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.input.phase, Phase::Head)
            && self.input.message_started_ms == 0
            && self.exchanges.is_answered()
    }

    /// Whether the application has been told of a request whose exchange is not over.
    pub(crate) fn has_request(&self) -> bool {
        self.exchanges.len() > 0
    }

    /// The request whose turn it is to be answered, if nothing has been given of its answer.
    pub(crate) fn unanswered(&self) -> Option<u32> {
        self.exchanges.first_unanswered()
    }

    /// Whether not a byte of a request has come since the last, or at all.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.input.phase, Phase::Head)
            && self.input.rest.is_empty()
            && self.exchanges.is_answered()
    }

    /// Whether it has not been taken over as a byte stream.
    pub(crate) fn is_http(&self) -> bool {
        !matches!(self.input.phase, Phase::Raw)
    }

    /// Whether what is received is used, not dropped.
    #[inline]
    pub(crate) fn wants_input(&self) -> bool {
        !matches!(self.input.phase, Phase::Ignored { .. })
    }

    /// Whether the end of a request is still to be read.
    pub(crate) fn is_receiving(&self) -> bool {
        self.exchanges.arriving().is_some()
    }

    /// Whether there are bytes to parse that were received before.
    #[inline]
    pub(crate) fn has_held_input(&self) -> bool {
        self.input.held
    }

    /// Whether the head or the whole of the request in work has taken too long. Said once for a request.
    pub(crate) fn is_request_late(
        &mut self,
        now_ms: u64,
        headers_ms: u64,
        request_ms: u64,
    ) -> bool {
        self.input.is_late(now_ms, headers_ms, request_ms)
    }

    /// A number that tells the body that the peer is waited for from others, and from itself before it was paused.
    /// `None`: the peer is not waited for.
    pub(crate) fn awaited_body(&self, transport: &Transport) -> Option<u64> {
        let exchange = self.exchanges.arriving()?;
        let is_held = match exchange.body {
            BodyWish::Bytes => transport.is_paused(),
            BodyWish::Nothing => true,
            BodyWish::End => false,
        };
        if !self.input.is_in_body() || is_held || exchange.awaits_continue {
            return None;
        }
        let pauses = self.input.pauses.wrapping_add(transport.pauses());
        Some(u64::from(self.exchanges.last()) << 32 | u64::from(pauses))
    }

    /// The peer has ended its side and everything before has been dealt with.
    pub(crate) fn handle_end(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if !transport.has_peer_ended() || self.input.end_handled || self.input.held {
            return Ok(());
        }
        let is_cut_short = match self.input.phase {
            Phase::Head => !self.input.rest.is_empty(),
            Phase::Sized { .. } | Phase::Chunked(_) => true,
            _ => false,
        };
        match self.input.phase {
            _ if self.input.refused.is_some() => transport.write_peer_end(core, events, 0)?,
            _ if is_cut_short => {
                let code = ParseErrorCode::InvalidEofState;
                self.refuse(transport, core, events, code, (&[], 0))?;
            }
            Phase::Upgrade { .. } | Phase::Raw => transport.write_peer_end(core, events, 0)?,
            _ if !self.exchanges.is_answered() => transport.write_peer_end(core, events, 0)?,
            _ => {}
        }
        self.input.end_handled = true;
        self.close_if_done(transport)
    }

    /// Closes when both sides have said all: the peer has ended, no answer is outstanding and all is sent.
    pub(crate) fn close_if_done(&self, transport: &Transport) -> Result<(), Stop> {
        let has_ended = transport.has_output_ended();
        // In a byte stream the peer waits for no answers that were never given, nor where our side has ended.
        let is_answered =
            self.exchanges.is_answered() || matches!(self.input.phase, Phase::Raw) || has_ended;
        if !self.input.end_handled || !is_answered || transport.queued() > 0 {
            return Ok(());
        }
        let undecided = matches!(
            self.input.phase,
            Phase::Raw | Phase::Stopped | Phase::Upgrade { .. }
        );
        if (undecided || self.input.refused.is_some()) && !has_ended {
            return Ok(());
        }
        Err(Stop::Close(0))
    }

    /// How to close when all is sent. Closing a socket with unread bytes resets the connection, and the reset may
    /// overtake our answer on its way to the peer's application. So the socket lingers if there are any (section 9.6).
    pub(crate) fn how_to_close(&self, transport: &Transport, core: &mut Core) -> Stop {
        if transport.has_peer_ended() {
            return Stop::Close(0);
        }
        if self.input.unread_at_close {
            return Stop::Linger;
        }
        // A client that has announced the end sends no more (section 9.6), and the last read took all it had sent.
        let has_announced_end = !self.input.keep_alive && self.input.refused.is_none();
        if has_announced_end && !transport.is_readable() && !transport.is_tls() {
            return Stop::Close(0);
        }
        if transport.has_unwanted_input(core) {
            Stop::Linger
        } else {
            Stop::Close(0)
        }
    }

    /// What the peer still sends is read and dropped, within bounds.
    fn ignore_the_rest(&mut self) {
        self.exchanges.end_request();
        self.input.ignore_the_rest();
    }

    /// What comes from now on is the application's as it is.
    fn become_raw(&mut self) {
        self.input.enter(Phase::Raw);
        self.exchanges.remove_arriving();
    }

    /// The request in work has been read to its end.
    #[inline]
    fn message_complete(&mut self) {
        if self.input.taken_over.is_some() {
            self.become_raw();
            return;
        }
        self.exchanges.end_request();
        if self.input.keep_alive {
            self.input.enter(Phase::Head);
        } else {
            self.input.ignore_the_rest();
        }
    }
}
