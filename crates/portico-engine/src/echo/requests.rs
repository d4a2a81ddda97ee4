//! Requests: begin, offer, tell; and those that wait for their responder.

use portico_channel::EventWriter;
use portico_channel::layout::{event, request_flag};
use portico_channel::schema::{Range, Record};
use portico_http::Method;
use portico_http::semantics::{Authority, RequestHead, Scheme, Span, Version};

use super::frames::{Frame, Kind};
use super::{Echo, Exchange};
use crate::answer::{Answer, Payload};
use crate::core::Core;
use crate::offer::{Offered, Turn, Waiting};
use crate::stop::Stop;
use crate::transport::Transport;

impl Echo {
    /// begin → offer → tell.
    pub(super) fn begin(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        frame: &Frame<'_>,
    ) -> Result<(), Stop> {
        let sequence = frame.stream;
        let head = RequestHead {
            bytes: frame.payload,
            fields: &[],
            method: Method::Get,
            version: Version::Http2,
            scheme: Scheme::Http,
            authority: Authority::None,
            target: Span {
                offset: 0,
                length: u32::try_from(frame.payload.len()).unwrap(),
            },
            has_body: frame.kind == Kind::Head,
        };
        let offered = turn.offer(transport, core, sequence, head);
        let is_whole = frame.kind == Kind::WholeHead;
        let mut exchange = Exchange {
            received: is_whole,
            is_whole,
            target: frame.payload.to_vec(),
            ..Exchange::default()
        };
        if matches!(offered, Offered::Waits) {
            exchange.waiting = Some(Waiting::begin(core, sequence));
        } else if matches!(offered, Offered::Passed | Offered::Filtered(_)) {
            write_request(transport, core, turn.events, sequence, &exchange)?;
        }
        self.last = sequence;
        self.exchanges.insert(sequence, exchange);
        transport.become_busy();
        core.counters.requests += 1;
        match offered {
            Offered::Answered(answer) => self.answer(transport, core, sequence, &answer),
            Offered::Filtered(filter) => turn.filters.push((sequence, filter)),
            Offered::Passed | Offered::Waits => {}
        }
        Ok(())
    }

    /// Requests whose wait is over.
    pub(super) fn tell_settled(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Stop> {
        let is_settled = |exchange: &Exchange| {
            let waiting = exchange.waiting.as_ref();
            waiting.is_some_and(|waiting| !waiting.is_open())
        };
        let settled = self.exchanges.iter().filter(|(_, it)| is_settled(it));
        for sequence in settled.map(|(sequence, _)| *sequence).collect::<Vec<_>>() {
            let exchange = self.exchanges.get_mut(&sequence).unwrap();
            let waiting = exchange.waiting.as_mut().unwrap();
            if !matches!(waiting.settled, Some(Offered::Answered(_))) {
                write_request(transport, core, turn.events, sequence, exchange)?;
            }
            let waiting = self.exchanges.get_mut(&sequence).unwrap().waiting.take();
            match waiting.and_then(|waiting| waiting.settled) {
                Some(Offered::Answered(answer)) => {
                    self.answer(transport, core, sequence, &answer);
                }
                Some(Offered::Filtered(filter)) => turn.filters.push((sequence, filter)),
                _ => {}
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        answer: &Answer,
    ) {
        // Nothing of the request's body is wanted.
        let exchange = self.exchanges.get_mut(&sequence).unwrap();
        exchange.received = true;
        exchange.kept.clear();
        let nothing = Payload::inside(b"");
        self.respond(transport, core, sequence, &answer.head(true), nothing);
        for segment in &answer.body {
            segment.lend(|part| self.give(transport, core, sequence, 0, part));
        }
        self.end(transport, core, sequence, 0, b"");
    }

    pub(crate) fn settle(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        offered: Offered,
    ) -> bool {
        let exchange = self.exchanges.get_mut(&sequence);
        let waiting = exchange.and_then(|exchange| exchange.waiting.as_mut());
        let is_waiting = waiting.is_some_and(|waiting| waiting.settle(sequence, offered));
        self.held |= is_waiting;
        transport.schedule(core);
        is_waiting
    }

    pub(crate) fn each_waiting(&self, mut visit: impl FnMut(u32, u64)) {
        let waiting = self.exchanges.values().filter_map(|it| it.waiting.as_ref());
        for waiting in waiting.filter(|waiting| waiting.is_open()) {
            visit(waiting.sequence, waiting.since_ms);
        }
    }
}

fn write_request(
    transport: &mut Transport,
    core: &Core,
    events: &mut EventWriter<'_>,
    sequence: u32,
    exchange: &Exchange,
) -> Result<(), Stop> {
    transport.announce(core, events)?;
    let flags = if exchange.is_whole {
        request_flag::COMPLETE
    } else {
        0
    };
    let target = Range::of(event::Request::payload_offset(0), &exchange.target);
    let words = event::Request {
        token: transport.token(),
        sequence,
        method: Method::Get as u8,
        major_version: 2,
        target,
        content_length: u64::MAX,
        ..event::Request::default()
    };
    let mut room = events.write(flags, words, 0, exchange.target.len())?;
    room.put(0, &exchange.target);
    Ok(())
}
