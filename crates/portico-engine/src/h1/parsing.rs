//! Received bytes into events: heads, and when to go on to what.

use portico_channel::EventWriter;
use portico_http::h1::{Expect, Head, leading_blank};
use portico_http::h2::PREFACE;
use portico_http::{ParseError, ParseErrorCode};

use super::H1;
use super::events::{to_usize, write_client_error};
use super::input::Phase;
use super::step::{Pause, Step};
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::limits::{PACKET_OUTPUT_BYTES, REQUESTS_PER_TURN};
use crate::offer::{Offered, Turn};
use crate::stop::Stop;
use crate::transport::Transport;

impl H1 {
    /// A turn begins.
    #[inline]
    pub(crate) fn begin_turn(&mut self) {
        self.input.begun_in_turn = 0;
    }

    /// Whether parsing stopped only because a turn's share of requests has been handed over.
    #[inline]
    pub(crate) fn has_more_for_a_turn(&self) -> bool {
        self.input.held && self.has_begun_enough()
    }

    /// Takes received bytes.
    #[inline]
    pub(crate) fn handle_input(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.input.rest.is_empty() {
            let packet_at = self.input.rest.len();
            self.input.rest.extend_from_slice(bytes);
            return self.parse_rest(transport, core, turn, packet_at);
        }
        let mut used = 0;
        let result = self.parse(transport, core, turn, bytes, &mut used, 0);
        if let Some(rest) = bytes.get(used..)
            && !rest.is_empty()
            && self.wants_rest()
        {
            self.input.rest.extend_from_slice(rest);
        }
        self.note_pause(result)
    }

    /// Parses what was received before.
    pub(crate) fn parse_held(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Stop> {
        self.parse_rest(transport, core, turn, 0)
    }

    /// The same; `packet_at` is where in it begins what was received last.
    fn parse_rest(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        packet_at: usize,
    ) -> Result<(), Stop> {
        let rest = std::mem::take(&mut self.input.rest);
        let mut used = 0;
        let result = self.parse(transport, core, turn, &rest, &mut used, packet_at);
        if self.wants_rest() {
            self.input.rest = rest;
            self.input.drop_used(used);
        }
        self.note_pause(result)
    }

    /// Keeps received bytes, to be parsed in the next turn.
    pub(crate) fn hold_input(&mut self, bytes: &[u8]) {
        self.input.hold(bytes);
    }

    fn wants_rest(&self) -> bool {
        !matches!(self.input.phase, Phase::Stopped) && self.input.refused.is_none()
    }

    #[inline]
    fn note_pause(&mut self, result: Result<Pause, Stop>) -> Result<(), Stop> {
        self.input.held = !self.input.rest.is_empty() && result != Ok(Pause::NeedMore);
        result.map(|_| ())
    }

    /// Whether parsing must wait for the application.
    #[inline]
    pub(crate) fn is_blocked(&self, transport: &Transport, core: &Core) -> bool {
        match self.input.phase {
            Phase::Upgrade { .. } | Phase::Waiting | Phase::Stopped => true,
            Phase::Head => {
                self.is_head_blocked(transport, core)
                    || self.input.over && self.is_over(transport, core)
            }
            Phase::Sized { .. } | Phase::Chunked(_) => match self.body_wish() {
                BodyWish::Bytes => transport.is_paused(),
                BodyWish::Nothing => true,
                BodyWish::End => false,
            },
            Phase::Raw => transport.is_paused(),
            Phase::Ignored { .. } => false,
        }
    }

    /// The same in the middle of what has been received. That is handed over to its end although more output waits than
    /// the high-water mark allows, as in Node, but not without a bound: Node keeps references to what its programs
    /// answer with, and so do we, but heads and small bodies are copied.
    #[inline]
    fn is_blocked_in_packet(&self, transport: &Transport, core: &Core) -> bool {
        match self.input.phase {
            Phase::Head => {
                let is_far_over =
                    self.input.over && self.waiting_bytes(transport) > PACKET_OUTPUT_BYTES;
                self.is_head_blocked(transport, core)
                    || is_far_over && self.is_over(transport, core)
            }
            Phase::Sized { .. } | Phase::Chunked(_) => {
                transport.is_paused() && self.body_wish() != BodyWish::End
            }
            _ => self.is_blocked(transport, core),
        }
    }

    #[inline]
    fn is_head_blocked(&self, transport: &Transport, core: &Core) -> bool {
        transport.is_paused() || self.exchanges.len() >= core.pipelined_requests
    }

    /// Whether nothing is parsed for want of answers alone: as many are due as may be, an upgrade stands behind some, or
    /// nothing more of the peer is wanted.
    pub(crate) fn waits_for_answers(&self, transport: &Transport, core: &Core) -> bool {
        match self.input.phase {
            Phase::Upgrade { .. } => self.exchanges.len() > 1,
            Phase::Stopped => !self.exchanges.is_answered(),
            Phase::Head => {
                !transport.is_paused() && self.exchanges.len() >= core.pipelined_requests
            }
            _ => false,
        }
    }

    /// Whether something is kept that comes before whatever is read next; behind an upgrade that is not known yet.
    pub(crate) fn keeps_input(&self) -> bool {
        self.input.held || matches!(self.input.phase, Phase::Upgrade { .. })
    }

    /// What the application wants of the body in work.
    #[inline]
    pub(super) fn body_wish(&self) -> BodyWish {
        self.exchanges
            .arriving()
            .map_or(BodyWish::default(), |exchange| exchange.body)
    }

    /// Whether no further request is handed over in this turn.
    #[inline]
    fn has_begun_enough(&self) -> bool {
        self.input.begun_in_turn >= REQUESTS_PER_TURN && matches!(self.input.phase, Phase::Head)
    }

    /// Whether more output waits than the high-water mark allows.
    #[inline]
    fn is_over(&self, transport: &Transport, core: &Core) -> bool {
        let waiting = self.waiting_bytes(transport);
        waiting > 0
            && core
                .listeners
                .find(transport.listener())
                .is_some_and(|listener| waiting > listener.options.high_water_mark)
    }

    /// Bytes of answers that wait for the kernel or for their turn.
    #[inline]
    fn waiting_bytes(&self, transport: &Transport) -> usize {
        transport.queued() + self.exchanges.held_bytes()
    }

    /// Parses `bytes`, which begin where the last call stopped, from `used` on, and moves `used` behind what is done
    /// with. What came last begins at `packet_at`.
    fn parse(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        bytes: &[u8],
        used: &mut usize,
        packet_at: usize,
    ) -> Result<Pause, Stop> {
        loop {
            let input = bytes.get(*used..).unwrap_or_default();
            if input.is_empty() {
                return Ok(Pause::NeedMore);
            }
            if self.is_blocked_in_packet(transport, core) {
                return Ok(Pause::Blocked);
            }
            if self.has_begun_enough() {
                return Ok(Pause::Turn);
            }
            let step = match self.input.phase {
                Phase::Head => self.parse_head(transport, core, turn, input)?,
                Phase::Sized { left } => {
                    Ok(self.parse_sized(transport, turn.events, input, left)?)
                }
                Phase::Chunked(_) => self.parse_chunked(transport, core, turn.events, input)?,
                Phase::Raw => Ok(self.parse_raw(transport, turn.events, input)?),
                Phase::Ignored { left } => {
                    self.write_later_client_error(transport, turn.events, input)?;
                    Ok(Step::Used(self.input.ignore(input.len(), left)))
                }
                Phase::Upgrade { .. } | Phase::Waiting | Phase::Stopped => {
                    return Ok(Pause::Blocked);
                }
            };
            match step {
                Ok(Step::Used(count)) => *used += count,
                Ok(Step::Pause(pause)) => return Ok(pause),
                Err(_) if *used == 0 && self.is_preface(transport, core, bytes) => {
                    return Err(Stop::Preface);
                }
                Err(error) => {
                    let packet = packet_with(bytes, packet_at, *used + error.offset);
                    self.refuse(transport, core, turn.events, error.code, packet)?;
                    return Ok(Pause::Blocked);
                }
            }
        }
    }

    /// One head. The outer error is a stop, the inner one the peer's.
    #[inline]
    fn parse_head(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        input: &[u8],
    ) -> Result<Result<Step, ParseError>, Stop> {
        if matches!(input.first(), Some(b'\r' | b'\n')) {
            return Ok(Ok(Step::Used(leading_blank(input))));
        }
        if self.input.message_started_ms == 0 {
            self.input.start_message(core.clock.now_ms());
        }
        let Some(listener) = core.listeners.find(transport.listener()) else {
            return Err(Stop::Close(0));
        };
        match core
            .parser
            .parse(input, &mut self.input.progress, &listener.head_limits)
        {
            Ok(None) => Ok(Ok(Step::Pause(Pause::NeedMore))),
            Err(error) => Ok(Err(error)),
            Ok(Some(head)) => Ok(Ok(self.hand_over(transport, core, turn, input, &head)?)),
        }
    }

    /// Begins the exchange of a head, offers it to the responder if there is one, and else tells the application.
    #[inline]
    fn hand_over(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        input: &[u8],
        head: &Head,
    ) -> Result<Step, Stop> {
        let sequence = self.exchanges.begin(head.expect == Expect::Continue);
        let is_settled = self.waiting.is_some();
        let offered = if turn.responder.is_none() && !is_settled {
            Offered::Passed
        } else {
            self.offer(transport, core, turn, (input, head))
        };
        let told = match &offered {
            Offered::Passed => self.write_request(transport, core, turn.events, input, head),
            Offered::Filtered(filter) => match filter.request_changes() {
                None => self.write_request(transport, core, turn.events, input, head),
                Some(changes) => self.write_changed(transport, core, turn, (input, head), changes),
            },
            Offered::Answered(_) => transport.announce(core, turn.events),
            Offered::Waits => {
                // The head stays where it is, and is parsed again when it is settled.
                self.exchanges.take_back();
                self.wait(transport, core, sequence);
                return Ok(Step::Pause(Pause::Blocked));
            }
        };
        if let Err(stop) = told {
            // The head is parsed again when there is room for the event, and what was not settled is offered again.
            self.exchanges.take_back();
            // A filter that was given with the request is given once.
            if is_settled || transport.pretended(core).is_some() {
                self.keep_settled(sequence, offered);
            }
            return Err(stop);
        }
        self.input.over = self.is_over(transport, core);
        self.input.begun_in_turn += 1;
        self.input.keep_alive = head.keep_alive;
        transport.become_busy();
        core.counters.requests += 1;
        if let Offered::Answered(answer) = offered {
            self.answer(transport, core, sequence, head, answer);
            return Ok(Step::Used(to_usize(head.head_bytes)));
        }
        if let Offered::Filtered(filter) = offered {
            turn.filters.push((sequence, filter));
        }
        if head.upgrade {
            let attached = input.len() - to_usize(head.head_bytes).min(input.len());
            self.input.enter(Phase::Upgrade {
                framing: head.framing,
                attached,
            });
        } else if !self.input.begin_body(head.framing) {
            self.message_complete();
        }
        Ok(Step::Used(to_usize(head.head_bytes)))
    }

    /// Whether what came is the preface of HTTP/2, or the beginning of it, instead of a connection's first request
    /// (RFC 9113, section 3.3).
    #[cold]
    fn is_preface(&self, transport: &Transport, core: &Core, bytes: &[u8]) -> bool {
        let listener = core.listeners.find(transport.listener());
        let is_allowed = listener.is_some_and(|listener| listener.options.protocols.http2);
        let length = bytes.len().min(PREFACE.len());
        is_allowed
            && !transport.is_tls()
            && self.exchanges.last() == 0
            && bytes.get(..length) == PREFACE.get(..length)
    }

    /// What was received and not used, for the protocol that takes the place of this one.
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input.rest)
    }

    /// The peer broke the protocol. Tells the application with the packet and the place in it, and stops listening to the
    /// peer: what becomes of the connection is for the application to say.
    pub(super) fn refuse(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        code: ParseErrorCode,
        (packet, place): (&[u8], usize),
    ) -> Result<(), Stop> {
        transport.announce(core, events)?;
        write_client_error(transport, events, code, place, packet)?;
        // Read on, within bounds: the peer's end must be heard of, and unread bytes would make a reset of the close.
        self.ignore_the_rest();
        self.input.refused = Some(code);
        self.input.drop_rest();
        transport.arm_close(core);
        Ok(())
    }
}

/// What came last of `bytes`, and where in it `place` is: an error is told with its packet, as Node does, and not with
/// what came before.
fn packet_with(bytes: &[u8], packet_at: usize, place: usize) -> (&[u8], usize) {
    let start = if packet_at <= place { packet_at } else { 0 };
    (bytes.get(start..).unwrap_or_default(), place - start)
}
