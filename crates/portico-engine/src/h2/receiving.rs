//! What the application says of bodies, and what is told of those that had to wait.

use portico_channel::EventWriter;
use portico_http::h2::ErrorCode;

use super::H2;
use super::events::{write_body, write_end, write_reset};
use super::exchanges::KeptEnd;
use super::parsing::to_word;
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::limits::{H2_KEPT_PIECE_BYTES, LINGER_BYTES};
use crate::offer::Turn;
use crate::stop::Stop;
use crate::transport::Transport;

impl H2 {
    /// `PAUSE`, `RESUME` and `DISCARD` of a body. What is discarded stays so.
    pub(crate) fn set_body_wish(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        wish: BodyWish,
    ) {
        let Some(exchange) = self.exchanges.find(sequence) else {
            return;
        };
        if exchange.is_received || exchange.wish == BodyWish::End {
            return;
        }
        exchange.wish = wish;
        if wish != BodyWish::Nothing {
            self.exchanges.make_due(sequence);
            transport.schedule(core);
        }
    }

    /// So much has come of a body that nobody wants. Behind the answer the client may still send some, since not every
    /// client reads an answer before its request is out; then it is told to stop (RFC 9113, section 8.1).
    pub(super) fn drop_unwanted(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        count: usize,
    ) {
        let Some(exchange) = self.exchanges.find(sequence) else {
            return;
        };
        if exchange.wish != BodyWish::End || !exchange.is_sent || exchange.kept_end.is_some() {
            return;
        }
        exchange.dropped += u64::try_from(count).unwrap_or(0);
        if exchange.dropped > LINGER_BYTES {
            let out = transport.buffer(core);
            let _ = self.session.reset(exchange.key, ErrorCode::NO_ERROR, out);
            exchange.kept_end = Some(KeptEnd::Plain);
            self.exchanges.make_due(sequence);
            transport.schedule(core);
        }
    }

    /// `FEED`: bytes to parse from somewhere else than the socket.
    pub(crate) fn feed(&mut self, transport: &mut Transport, core: &mut Core, bytes: &[u8]) {
        if self.wants_input() && !bytes.is_empty() {
            self.hold_input(bytes);
            transport.schedule(core);
        }
    }

    /// `TAKE_OVER`: there is no byte stream beneath streams. A tunnel's bytes are its request's body and its answer's.
    #[expect(clippy::unused_self, reason = "a protocol's record")]
    pub(crate) fn take_over(&mut self, _: &mut Transport, _: &mut Core, _: u32) {}

    /// `PROCEED`, likewise.
    #[expect(clippy::unused_self, reason = "a protocol's record")]
    pub(crate) fn proceed(&mut self, _: &mut Transport, _: &mut Core) {}

    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "a protocol's step"
    )]
    pub(crate) fn tell_taken_over(
        &mut self,
        _: &Transport,
        _: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        Ok(())
    }

    /// Has the connection driven in the next turn: what stopped it may be gone.
    pub(crate) fn look_again(&self, transport: &mut Transport, core: &mut Core) {
        if self.has_held_input() || transport.is_readable() || transport.has_peer_ended() {
            transport.schedule(core);
        }
    }

    /// Tells what can be told of an exchange now. To be called again if that could not be done for want of event memory.
    pub(super) fn look_at(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        sequence: u32,
    ) -> Result<(), Stop> {
        self.tell_settled(transport, core, turn, sequence)?;
        let name = (transport.token(), sequence);
        let Some(exchange) = self.exchanges.find(sequence) else {
            return Ok(());
        };
        if let Some(code) = exchange.gone {
            let out = transport.buffer(core);
            let _ = self.session.reset(exchange.key, code, out);
            let is_told = exchange.waiting.is_none() && !exchange.is_untold;
            if exchange.waiting.is_some() {
                core.agenda.cancel(name.0, name.1);
            }
            self.exchanges.remove(sequence);
            if !is_told {
                return Ok(());
            }
            let write = |events: &mut EventWriter<'_>| write_reset(events, name, code.0);
            return self.untold.tell(transport, core, turn.events, write);
        }
        if exchange.waiting.is_some() || exchange.wish == BodyWish::Nothing {
            return Ok(());
        }
        while !exchange.kept.is_empty() {
            let count = exchange.kept.len().min(H2_KEPT_PIECE_BYTES);
            let piece: Vec<u8> = exchange.kept.drain(..count).collect();
            let out = transport.buffer(core);
            self.session.release(exchange.key, to_word(count), out);
            if exchange.wish == BodyWish::Bytes {
                let write = |events: &mut EventWriter<'_>| write_body(events, name, &piece, false);
                self.untold.tell(transport, core, turn.events, write)?;
            }
        }
        exchange.kept = Vec::new();
        let told = match exchange.kept_end.take() {
            None => return Ok(()),
            Some(_) if exchange.is_untold => Ok(()),
            Some(KeptEnd::Plain) => {
                let write = |events: &mut EventWriter<'_>| write_end(events, name);
                self.untold.tell(transport, core, turn.events, write)
            }
            Some(KeptEnd::Record(record)) => {
                let write = |events: &mut EventWriter<'_>| events.append(&record);
                self.untold.tell(transport, core, turn.events, write)
            }
        };
        exchange.is_received = true;
        self.exchanges.remove_if_over(sequence);
        told
    }
}
