//! A request that waits for its responder. Its head stays among the bytes that were received, and nothing behind it is
//! read: that bounds what is kept.

use portico_channel::EventWriter;
use portico_http::h1::Head;
use portico_http::semantics::Scheme;

use super::H1;
use super::input::Phase;
use crate::core::Core;
use crate::offer::{Offered, Turn, Waiting};
use crate::request_changes::RequestChanges;
use crate::stop::Stop;
use crate::transport::Transport;

/// Room for the words of a request and the table of its fields, mostly.
const REQUEST_WORDS_BYTES: usize = 1024;

impl H1 {
    /// What becomes of the request that has begun: as was settled, or as the responder says.
    #[inline(never)]
    pub(super) fn offer(
        &mut self,
        transport: &Transport,
        core: &Core,
        turn: &mut Turn<'_, '_>,
        (input, head): (&[u8], &Head),
    ) -> Offered {
        if let Some(settled) = self.waiting.take().and_then(|waiting| waiting.settled) {
            return settled;
        }
        let scheme = if transport.is_secure(core) {
            Scheme::Https
        } else {
            Scheme::Http
        };
        let head = head.request(core.parser.fields(), input, scheme);
        turn.offer(transport, core, self.exchanges.last(), head)
    }

    /// Writes `REQUEST` for a head of which the application is told otherwise.
    #[cold]
    pub(super) fn write_changed(
        &self,
        transport: &mut Transport,
        core: &Core,
        turn: &mut Turn<'_, '_>,
        (input, head): (&[u8], &Head),
        changes: &RequestChanges,
    ) -> Result<(), Stop> {
        transport.announce(core, turn.events)?;
        let mut memory = vec![0; input.len() + REQUEST_WORDS_BYTES];
        let mut own = EventWriter::new(&mut memory);
        match self.write_request(transport, core, &mut own, input, head) {
            Ok(()) => {}
            Err(Stop::NeedSpace(bytes)) => {
                memory = vec![0; bytes];
                own = EventWriter::new(&mut memory);
                self.write_request(transport, core, &mut own, input, head)?;
            }
            Err(stop) => return Err(stop),
        }
        Ok(changes.write(own.written(), turn.events)?)
    }

    /// The request that comes next waits.
    pub(super) fn wait(&mut self, transport: &mut Transport, core: &mut Core, sequence: u32) {
        self.waiting = Some(Box::new(Waiting::begin(core, sequence)));
        // Its client has sent the head in time.
        self.input.enter(Phase::Waiting);
        transport.become_busy();
    }

    /// What was settled could not be done for want of event memory.
    #[cold]
    pub(super) fn keep_settled(&mut self, sequence: u32, offered: Offered) {
        self.waiting = Some(Box::new(Waiting {
            sequence,
            since_ms: 0,
            settled: Some(offered),
        }));
    }

    /// What becomes of the request that waits. `false`: it does not.
    pub(crate) fn settle(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        offered: Offered,
    ) -> bool {
        let Some(waiting) = self.waiting.as_mut() else {
            return false;
        };
        let is_waiting =
            matches!(self.input.phase, Phase::Waiting) && waiting.settle(sequence, offered);
        if is_waiting && !waiting.is_open() {
            self.input.enter(Phase::Head);
            self.look_again(transport, core);
        }
        is_waiting
    }

    /// The number of the request that waits, and since when.
    pub(crate) fn each_waiting(&self, mut visit: impl FnMut(u32, u64)) {
        if let Some(waiting) = self.waiting.as_ref().filter(|waiting| waiting.is_open()) {
            visit(waiting.sequence, waiting.since_ms);
        }
    }
}
