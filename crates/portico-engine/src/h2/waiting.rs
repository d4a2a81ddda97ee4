//! Requests that wait for their responder: each holds its own stream alone.

use super::H2;
use super::parsing::to_word;
use crate::answer::{Answer, Payload};
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::offer::{Offered, Turn};
use crate::stop::Stop;
use crate::transport::Transport;

impl H2 {
    /// What becomes of a request that waits. `false`: it does not.
    pub(crate) fn settle(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        offered: Offered,
    ) -> bool {
        let exchange = self.exchanges.find(sequence);
        let Some(waiting) = exchange.and_then(|exchange| exchange.waiting.as_mut()) else {
            return false;
        };
        let is_waiting = waiting.0.settle(sequence, offered);
        if is_waiting && !waiting.0.is_open() {
            self.exchanges.make_due(sequence);
            transport.schedule(core);
        }
        is_waiting
    }

    /// Numbers of the requests that wait, and since when.
    pub(crate) fn each_waiting(&self, mut visit: impl FnMut(u32, u64)) {
        for (_, exchange) in self.exchanges.iter() {
            if let Some((waiting, _)) = exchange.waiting.as_deref()
                && waiting.is_open()
            {
                visit(waiting.sequence, waiting.since_ms);
            }
        }
    }

    /// Does what was settled of a request.
    pub(super) fn tell_settled(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        sequence: u32,
    ) -> Result<(), Stop> {
        let Some(exchange) = self.exchanges.find(sequence) else {
            return Ok(());
        };
        let settled = exchange
            .waiting
            .take_if(|waiting| !waiting.0.is_open())
            .map(|waiting| *waiting);
        let Some((waiting, mut record)) = settled else {
            return Ok(());
        };
        match waiting.settled {
            Some(Offered::Answered(answer)) => {
                self.answer(transport, core, sequence, &answer);
                return Ok(());
            }
            Some(Offered::Filtered(filter)) => {
                if let Some(changes) = filter.request_changes() {
                    record = super::events::record(|events| changes.write(&record, events));
                }
                turn.filters.push((sequence, filter));
            }
            _ => {}
        }
        let untold = &mut self.untold;
        untold.tell(transport, core, turn.events, |events| {
            events.append(&record)
        })
    }

    /// Gives the whole answer to a request that the application is not told of. Nothing of its body is read.
    pub(super) fn answer(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        answer: &Answer,
    ) {
        if let Some(exchange) = self.exchanges.find(sequence) {
            exchange.is_untold = true;
            exchange.wish = BodyWish::End;
            let dropped = std::mem::take(&mut exchange.kept).len();
            let out = transport.buffer(core);
            self.session.release(exchange.key, to_word(dropped), out);
            exchange.is_received |= exchange.kept_end.take().is_some();
        }
        let nothing = Payload::inside(b"");
        self.respond(transport, core, sequence, &answer.head(true), nothing);
        if !self.is_answer_to_head(sequence) {
            for segment in &answer.body {
                segment.lend(|part| self.give(transport, core, sequence, 0, part));
            }
        }
        self.end(transport, core, sequence, 0, b"");
    }

    fn is_answer_to_head(&mut self, sequence: u32) -> bool {
        let exchange = self.exchanges.find(sequence);
        exchange.is_some_and(|exchange| exchange.is_head)
    }
}
