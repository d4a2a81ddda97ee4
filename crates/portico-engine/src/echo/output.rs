//! Answers: kept with their exchanges, and framed a piece at a time, in turn.

use portico_channel::layout::response_flag;

use super::frames::{Frame, Kind, write_head};
use super::{Echo, Exchange};
use crate::answer::{AnswerHead, InterimHead, Part, Payload};
use crate::core::Core;
use crate::transport::Transport;

/// Bytes of a `Data`.
pub(crate) const PIECE_BYTES: usize = 1000;
/// Bytes that are framed ahead of what the kernel takes.
pub(crate) const FRAMED_BYTES: usize = 8000;

impl Echo {
    pub(crate) fn respond(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        head: &AnswerHead<'_>,
        body: Payload<'_>,
    ) {
        let Some(exchange) = self.exchanges.get_mut(&sequence) else {
            return;
        };
        if std::mem::replace(&mut exchange.head_given, true) {
            return;
        }
        let status = head.status.to_be_bytes();
        let payload = [&status[..], head.fields].concat();
        let frame = Frame {
            stream: sequence,
            kind: Kind::Head,
            payload: &payload,
        };
        frame.write(&mut exchange.head);
        self.give(transport, core, sequence, head.flags, Part::Bytes(body));
    }

    pub(crate) fn data(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        body: Payload<'_>,
    ) {
        self.give(transport, core, sequence, flags, Part::Bytes(body));
    }

    pub(crate) fn end(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        _trailers: &[u8],
    ) {
        let nothing = Part::Bytes(Payload::inside(b""));
        let flags = flags | response_flag::END;
        self.give(transport, core, sequence, flags, nothing);
    }

    pub(crate) fn inform(
        &mut self,
        _: &mut Transport,
        _: &mut Core,
        _: u32,
        _: u32,
        _: &InterimHead<'_>,
    ) {
    }

    /// There is no byte stream beneath streams.
    pub(crate) fn raw(&mut self, _: &mut Transport, _: &mut Core, _: u32, _: Payload<'_>) {}

    /// `RESET`: the peer is told, and the connection goes on.
    pub(crate) fn reset(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        code: u32,
    ) {
        if self.exchanges.remove(&sequence).is_none() {
            return;
        }
        let frame = Frame {
            stream: sequence,
            kind: Kind::Reset,
            payload: &code.to_be_bytes(),
        };
        frame.write(transport.buffer(core));
        transport.flush_later(core);
    }

    pub(crate) fn give(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        part: Part<'_>,
    ) {
        let Some(exchange) = self.exchanges.get_mut(&sequence) else {
            return;
        };
        if !exchange.head_given || exchange.answered {
            return;
        }
        match part {
            Part::Bytes(body) => exchange.body.push(body, b"", &mut core.buffers),
            Part::File(range) => exchange.body.push_file(range.clone()),
        }
        exchange.answered = flags & response_flag::END != 0;
        if flags & response_flag::ACK != 0 {
            exchange.acks.push(exchange.framed + exchange.body.len());
        }
        if !self.ready.contains(&sequence) {
            self.ready.push_back(sequence);
        }
        transport.flush_later(core);
    }

    pub(crate) fn holds_output(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Frames a piece of each answer in turn, as far as the output has room.
    pub(crate) fn fill_output(&mut self, transport: &mut Transport, core: &mut Core) {
        while transport.queued() < FRAMED_BYTES
            && let Some(sequence) = self.ready.pop_front()
        {
            let Some(exchange) = self.exchanges.get_mut(&sequence) else {
                // It has been given up.
                continue;
            };
            frame_piece(transport, core, sequence, exchange);
            if !exchange.body.is_empty() {
                self.ready.push_back(sequence);
            } else if exchange.answered {
                write_head(transport.buffer(core), sequence, Kind::End, 0);
                core.counters.responses += 1;
                self.end_if_over(sequence);
            }
        }
        if self.is_idle() {
            transport.become_idle(core);
        }
    }
}

fn frame_piece(transport: &mut Transport, core: &mut Core, sequence: u32, exchange: &mut Exchange) {
    transport.buffer(core).append(&mut exchange.head);
    let mut piece = Vec::new();
    if exchange.body.move_front(&mut piece, PIECE_BYTES).is_ok() && !piece.is_empty() {
        let frame = Frame {
            stream: sequence,
            kind: Kind::Data,
            payload: &piece,
        };
        frame.write(transport.buffer(core));
        exchange.framed += piece.len();
    }
    exchange.body.tidy(&mut core.buffers);
    let framed = exchange.framed;
    exchange.acks.retain(|wanted| {
        if *wanted <= framed {
            transport.acknowledge(transport.position(), sequence);
        }
        *wanted > framed
    });
}
