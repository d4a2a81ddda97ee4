//! A protocol of the tests: streams that interleave, as HTTP/2's do, in frames of our own.
//!
//! It holds [`crate::protocol`] to what a protocol with streams needs: exchanges that end in any order, bodies that are
//! paused one by one, answers framed a piece at a time as the output has room, and the end of one exchange alone, from
//! either side. The tests themselves are in `shard/streams.rs`.
//!
//! ```text
//! frame = stream u32, kind u8, length u24, payload         (big endian)
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::unused_self,
    reason = "tests"
)]

mod exchange;
pub(crate) mod frames;
pub(crate) mod output;
mod requests;

use portico_channel::layout::event;
use portico_channel::{EventWriter, IdMap};

use crate::core::Core;
use crate::exchange::BodyWish;
use crate::offer::Turn;
use crate::protocol::Protocol;
use crate::stop::Stop;
use crate::transport::{AfterFlush, Transport};
use exchange::Exchange;
use frames::{Frame, Kind};

/// Bytes that may be told of a body before they are told are kept in its exchange: a window without updates.
const KEPT_BYTES: usize = 64 * 1024;

/// The protocol's state on one connection.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// Received, not done with.
    input: Vec<u8>,
    /// Whether `input` may hold a whole frame that has not been looked at.
    held: bool,
    exchanges: IdMap<u32, Exchange>,
    /// Those that have something to frame, in turn.
    ready: std::collections::VecDeque<u32>,
    last: u32,
    end_handled: bool,
    closing: bool,
}

impl Echo {
    /// What a connection speaks from the first byte on.
    pub(crate) fn first(_: u64) -> Protocol {
        Protocol::Echo(Box::default())
    }

    pub(crate) fn start(&mut self, _: u64) {}

    pub(crate) fn abandon(&mut self) {
        self.exchanges.clear();
        self.ready.clear();
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.exchanges.is_empty()
    }

    pub(crate) fn has_request(&self) -> bool {
        !self.is_idle()
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.is_idle() && self.input.is_empty()
    }

    pub(crate) fn is_http(&self) -> bool {
        true
    }

    pub(crate) fn wants_input(&self) -> bool {
        !self.closing
    }

    pub(crate) fn is_receiving(&self) -> bool {
        self.exchanges.values().any(|exchange| !exchange.received)
    }

    pub(crate) fn has_held_input(&self) -> bool {
        self.held
    }

    pub(crate) fn is_request_late(&mut self, _: u64, _: u64, _: u64) -> bool {
        false
    }

    pub(crate) fn awaited_body(&self, _: &Transport) -> Option<u64> {
        None
    }

    pub(crate) fn begin_turn(&mut self) {}

    /// It always reads.
    pub(crate) fn waits_for_answers(&self, _: &Transport, _: &Core) -> bool {
        false
    }

    pub(crate) fn keeps_input(&self) -> bool {
        self.held
    }

    pub(crate) fn has_more_for_a_turn(&self) -> bool {
        self.held
    }

    /// One stream that is held holds no other: only its window is.
    pub(crate) fn is_blocked(&self, _: &Transport, _: &Core) -> bool {
        false
    }

    pub(crate) fn hold_input(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        self.held = true;
    }

    /// Frames are to be parsed.
    pub(crate) fn receive_in_place(
        &mut self,
        _transport: &mut Transport,
        _core: &mut Core,
        _events: &mut EventWriter<'_>,
    ) -> Result<bool, Stop> {
        Ok(false)
    }

    pub(crate) fn handle_input(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        self.input.extend_from_slice(bytes);
        self.parse_held(transport, core, turn)
    }

    pub(crate) fn parse_held(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Stop> {
        self.held = true;
        self.tell_settled(transport, core, turn)?;
        let input = std::mem::take(&mut self.input);
        let mut used = 0;
        let result = loop {
            let Some((frame, size)) = Frame::read(&input[used..]) else {
                self.held = false;
                break Ok(());
            };
            match self.handle_frame(transport, core, turn, &frame) {
                Ok(()) => used += size,
                Err(stop) => break Err(stop),
            }
        };
        self.input = input[used..].to_vec();
        result
    }

    fn handle_frame(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        frame: &Frame<'_>,
    ) -> Result<(), Stop> {
        match frame.kind {
            Kind::Head | Kind::WholeHead if frame.stream > self.last => {
                self.begin(transport, core, turn, frame)
            }
            Kind::Data | Kind::End => self.body(transport, turn.events, frame),
            Kind::Reset => self.peer_reset(transport, core, turn.events, frame),
            // Numbers only grow.
            Kind::Head | Kind::WholeHead => Err(Stop::Close(0)),
        }
    }

    fn body(
        &mut self,
        transport: &mut Transport,
        events: &mut EventWriter<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), Stop> {
        let Some(exchange) = self.exchanges.get_mut(&frame.stream) else {
            return Ok(());
        };
        if exchange.received {
            return Ok(());
        }
        if exchange.is_held() {
            exchange.kept.extend_from_slice(frame.payload);
            exchange.received |= frame.kind == Kind::End;
            return match exchange.kept.len() {
                0..=KEPT_BYTES => Ok(()),
                _ => Err(Stop::Close(0)),
            };
        }
        let is_told = exchange.wish == BodyWish::Bytes;
        if frame.kind == Kind::End {
            write_end(transport, events, frame.stream)?;
            exchange.received = true;
            self.end_if_over(frame.stream);
        } else if is_told {
            write_body(transport, events, frame.stream, frame.payload)?;
        }
        Ok(())
    }

    /// The peer has given up one exchange: the others go on.
    fn peer_reset(
        &mut self,
        transport: &Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), Stop> {
        let Some(exchange) = self.exchanges.get(&frame.stream) else {
            return Ok(());
        };
        if exchange.waiting.is_some() {
            // The application has not been told of it.
            core.agenda.cancel(transport.token(), frame.stream);
            self.exchanges.remove(&frame.stream);
            return Ok(());
        }
        let code = frame
            .payload
            .first_chunk()
            .map_or(0, |code| u32::from_be_bytes(*code));
        events.tell(
            0,
            event::Reset {
                token: transport.token(),
                sequence: frame.stream,
                code,
            },
        )?;
        self.exchanges.remove(&frame.stream);
        Ok(())
    }

    /// What was kept of bodies that are wanted again.
    fn tell_kept(
        &mut self,
        transport: &Transport,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        let mut over = Vec::new();
        for (sequence, exchange) in &mut self.exchanges {
            if exchange.is_held() || exchange.kept.is_empty() {
                continue;
            }
            if exchange.wish == BodyWish::Bytes {
                write_body(transport, events, *sequence, &exchange.kept)?;
            }
            exchange.kept.clear();
            if exchange.received {
                write_end(transport, events, *sequence)?;
                over.push(*sequence);
            }
        }
        for sequence in over {
            self.end_if_over(sequence);
        }
        Ok(())
    }

    fn end_if_over(&mut self, sequence: u32) {
        if self.exchanges.get(&sequence).is_some_and(Exchange::is_over) {
            self.exchanges.remove(&sequence);
        }
    }

    pub(crate) fn handle_end(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        self.tell_kept(transport, events)?;
        if transport.has_peer_ended() && !self.end_handled && !self.held {
            if !self.exchanges.is_empty() {
                transport.write_peer_end(core, events, 0)?;
            }
            self.end_handled = true;
        }
        self.close_if_done(transport)
    }

    pub(crate) fn close_if_done(&self, transport: &Transport) -> Result<(), Stop> {
        let is_done = self.exchanges.is_empty() && transport.queued() == 0;
        match self.end_handled && is_done {
            true => Err(Stop::Close(0)),
            false => Ok(()),
        }
    }

    pub(crate) fn how_to_close(&self, _: &Transport, _: &mut Core) -> Stop {
        Stop::Close(0)
    }

    pub(crate) fn look_again(&self, transport: &mut Transport, core: &mut Core) {
        transport.schedule(core);
    }

    pub(crate) fn set_body_wish(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        wish: BodyWish,
    ) {
        if let Some(exchange) = self.exchanges.get_mut(&sequence)
            && exchange.wish != BodyWish::End
        {
            exchange.wish = wish;
            transport.schedule(core);
        }
    }

    pub(crate) fn feed(&mut self, _: &mut Transport, _: &mut Core, _: &[u8]) {}

    pub(crate) fn take_over(&mut self, _: &mut Transport, _: &mut Core, _: u32) {}

    pub(crate) fn tell_taken_over(
        &mut self,
        _: &Transport,
        _: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        Ok(())
    }

    pub(crate) fn proceed(&mut self, _: &mut Transport, _: &mut Core) {}

    pub(crate) fn shutdown(&mut self, transport: &mut Transport, _: bool) {
        self.closing = true;
        self.abandon();
        transport.set_after_flush(AfterFlush::Close);
    }
}

fn write_body(
    transport: &Transport,
    events: &mut EventWriter<'_>,
    sequence: u32,
    bytes: &[u8],
) -> Result<(), Stop> {
    events.tell_bytes(0, bytes, |bytes| event::Body {
        token: transport.token(),
        sequence,
        bytes,
    })?;
    Ok(())
}

fn write_end(
    transport: &Transport,
    events: &mut EventWriter<'_>,
    sequence: u32,
) -> Result<(), Stop> {
    let words = event::End {
        token: transport.token(),
        sequence,
        field_count: 0,
    };
    events.tell(0, words)?;
    Ok(())
}
